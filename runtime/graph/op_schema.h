// The schema of an op: its inputs, outputs and attributes, and the rule that infers output shapes.
// A kernel is the code that runs an op on a device; it is registered elsewhere (runtime/kernels).
//
// Schemas are written as text, one specification a line, in the form users know from TensorFlow's
// docs:
//   schemas.Add(OpSchemaBuilder("MatMul")
//       .Input("a: T").Input("b: T").Output("product: T")
//       .Attr("transpose_a: bool = false").Attr("transpose_b: bool = false")
//       .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
//       .Shape(MatMulShape)
//       .Doc("Matrix product of two matrices."));
// Argument types: a dtype ("int32"), an attr of kind type ("T"), a repeated one ("N * T"), a list
// of types
// ("Tin", where Tin: list(type)), each possibly "Ref(...)".
// Attr kinds: string, int, float, bool, type, shape, tensor, func, list(...) of those, an
// enumeration of strings ({'SAME', 'VALID'}) or of types ({float, double}); then optionally a
// minimum (">= 1") and a default ("= 3"). "numbertype" and "realnumbertype" stand for TensorFlow's
// usual sets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/graph.pb.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/tensor/dtype.h"

namespace tensorfleet {

class ShapeContext;
using ShapeFn = Status (*)(ShapeContext& ctx);

struct ArgSpec {
  std::string name;
  DType type =
      DType::kInvalid;  // when fixed, else one of the next two names the attr that gives it
  std::string type_attr;
  std::string type_list_attr;
  std::string number_attr;  // when the argument is a list of as many tensors of one type
  bool is_ref = false;
};

struct AttrSpec {
  std::string name;
  std::string
      kind;  // "int", "list(type)", ...; enumerations are "string" or "type" with allowed values
  std::optional<tensorflow::AttrValue> default_value;
  std::vector<DType> allowed_types;          // empty: any
  std::vector<std::string> allowed_strings;  // empty: any
  std::optional<int64_t> minimum;            // of an int, or of a list's length
};

struct OpSchema {
  std::string name;
  std::vector<ArgSpec> inputs;
  std::vector<ArgSpec> outputs;
  std::vector<AttrSpec> attrs;
  bool is_stateful =
      false;  // not to be folded, deduplicated or, unless asked for, pruned by equality
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;  // may be given a ref variable that holds nothing yet
  ShapeFn shape_fn = nullptr;
  std::string doc;

  const AttrSpec* FindAttr(absl::string_view attr_name) const;
  // "Op<name=Neg; signature=x:T -> y:T; attr=T:type,allowed=[DT_FLOAT]>": how errors show a schema.
  std::string Summary() const;
};

// Collects the specifications of one op; Build reports what cannot be parsed.
class OpSchemaBuilder {
 public:
  explicit OpSchemaBuilder(absl::string_view name);
  OpSchemaBuilder& Input(absl::string_view spec);
  OpSchemaBuilder& Output(absl::string_view spec);
  OpSchemaBuilder& Attr(absl::string_view spec);
  OpSchemaBuilder& Stateful();
  OpSchemaBuilder& Commutative();
  OpSchemaBuilder& Aggregate();
  OpSchemaBuilder& AllowsUninitializedInput();
  OpSchemaBuilder& Shape(ShapeFn fn);
  OpSchemaBuilder& Doc(absl::string_view doc);

  const std::string& name() const { return name_; }
  // Parses the specifications. Errors: InvalidArgument with the op's name and the text at fault.
  StatusOr<OpSchema> Build() const;

 private:
  std::string name_;
  std::vector<std::string> inputs_, outputs_, attrs_;
  bool stateful_ = false, commutative_ = false, aggregate_ = false, uninit_ok_ = false;
  ShapeFn shape_fn_ = nullptr;
  std::string doc_;
};

// A schema from the message form, as functions carry it.
StatusOr<OpSchema> OpSchemaFromProto(const tensorflow::OpDef& def);
void OpSchemaToProto(const OpSchema& schema, tensorflow::OpDef* def);

// The ops that this process knows. Filled once at start (runtime/ops/all.h), then only read.
// Specifications are parsed when an op is first asked for, so that a server starts quickly.
// Thread-safe.
class OpRegistry {
 public:
  // A second schema of the same name is our bug and ends the process.
  void Add(OpSchemaBuilder builder);

  // Errors: NotFound `Op type not registered 'X' in binary running on HOST. ...`, which says how to
  // list the ops.
  StatusOr<const OpSchema*> Find(absl::string_view op) const;
  // Sorted names.
  std::vector<std::string> Names() const;

 private:
  struct Entry {
    OpSchemaBuilder builder;
    std::unique_ptr<const OpSchema> schema;  // once parsed
  };
  mutable Mutex mu_;
  mutable absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet
