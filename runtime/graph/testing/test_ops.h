// A few ops for tests of the graph itself, so that those need no op library.
#pragma once

#include <google/protobuf/text_format.h>

#include "proto/graph.pb.h"
#include "runtime/base/check.h"
#include "runtime/graph/op_schema.h"

namespace tensorfleet::testing_ops {

inline const OpRegistry& Ops() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    made->Add(OpSchemaBuilder("Source").Output("out: T").Attr("T: type = DT_FLOAT"));
    made->Add(OpSchemaBuilder("RefSource").Output("out: Ref(float)").Stateful());
    made->Add(OpSchemaBuilder("Copy").Input("in: T").Output("out: T").Attr("T: type = DT_FLOAT"));
    made->Add(OpSchemaBuilder("Join")
                  .Input("in: N * T")
                  .Output("out: T")
                  .Attr("N: int >= 1")
                  .Attr("T: type = DT_FLOAT"));
    made->Add(OpSchemaBuilder("Pair").Output("a: float").Output("b: N * int32").Attr("N: int = 2"));
    made->Add(OpSchemaBuilder("NeedsAttr").Output("out: float").Attr("value: int"));
    made->Add(
        OpSchemaBuilder("NextIteration").Input("data: T").Output("output: T").Attr("T: type"));
    made->Add(OpSchemaBuilder("Merge")
                  .Input("inputs: N * T")
                  .Output("output: T")
                  .Output("value_index: int32")
                  .Attr("T: type")
                  .Attr("N: int >= 1"));
    made->Add(OpSchemaBuilder("_Arg")
                  .Output("output: T")
                  .Attr("T: type")
                  .Attr("index: int >= 0")
                  .Stateful());
    made->Add(OpSchemaBuilder("_Retval")
                  .Input("input: T")
                  .Attr("T: type")
                  .Attr("index: int >= 0")
                  .Stateful());
    made->Add(
        OpSchemaBuilder("Const").Output("output: dtype").Attr("value: tensor").Attr("dtype: type"));
    return made;
  }();
  return *ops;
}

// A message from its text form.
template <typename M>
M Parse(const std::string& text) {
  M message;
  TFLEET_CHECK(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

}  // namespace tensorfleet::testing_ops
