// Any bytes either are refused as a GraphDef or import into a graph that exports and imports again.

#include "proto/graph.pb.h"
#include "runtime/base/check.h"
#include "runtime/graph/function_library.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/shape_context.h"
#include "runtime/ops/all.h"
#include "runtime/tensor/buffer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensorfleet;
  SetMaxHostBufferBytes(size_t{16} << 20);
  tensorflow::GraphDef def;
  if (!def.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto library = FunctionLibrary::FromProto(def.library());
  if (!library.ok()) return 0;
  Graph graph(&BuiltinOps(), *library);
  const ImportOptions options{.allow_internal_ops = true};
  if (!ImportGraphDef(def, options, &graph).ok()) return 0;
  (void)InferShapes(graph);
  for (const auto& function : def.library().function()) {
    (void)InstantiateFunction(BuiltinOps(), *library, function.signature().name(), {});
  }
  tensorflow::GraphDef again;
  ExportGraphDef(graph, {}, &again);
  Graph second(&BuiltinOps(), *library);
  TFLEET_CHECK(ImportGraphDef(again, options, &second).ok());
  return 0;
}
