// Reading attributes of nodes. Every reader names the node and the attribute in its error.
#pragma once

#include <string>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/base/status.h"
#include "runtime/graph/op_schema.h"
#include "runtime/tensor/shape.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

using AttrMap = google::protobuf::Map<std::string, tensorflow::AttrValue>;

// Null when absent.
const tensorflow::AttrValue* FindAttr(const tensorflow::NodeDef& node, absl::string_view name);

// T is one of: int64_t, float, bool, std::string, DType, Shape, PartialShape, Tensor,
// tensorflow::NameAttrList, and std::vector of int64_t, float, bool, std::string, DType,
// PartialShape, tensorflow::NameAttrList. Errors: NotFound when absent; InvalidArgument when it
// holds another kind.
template <typename T>
StatusOr<T> GetAttr(const tensorflow::NodeDef& node, absl::string_view name);

// `fallback` when the attribute is absent; an attribute of another kind is still an error.
template <typename T>
StatusOr<T> GetAttrOr(const tensorflow::NodeDef& node, absl::string_view name, T fallback) {
  if (FindAttr(node, name) == nullptr) return fallback;
  return GetAttr<T>(node, name);
}

void SetAttr(tensorflow::NodeDef* node, absl::string_view name, int64_t value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, int value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, float value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, bool value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, absl::string_view value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, const char* value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, DType value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, const PartialShape& value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, const Tensor& value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name,
             const tensorflow::NameAttrList& value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, absl::Span<const int64_t> value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name,
             absl::Span<const std::string> value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name, absl::Span<const DType> value);
void SetAttr(tensorflow::NodeDef* node, absl::string_view name,
             absl::Span<const PartialShape> value);

// Checks `value` against `spec`: kind, allowed values, minimum. Errors: InvalidArgument.
Status CheckAttr(const AttrSpec& spec, const tensorflow::AttrValue& value);

// Fills every attribute of `schema` that is absent and has a default. Errors: InvalidArgument
// `NodeDef missing attr 'value' from Op<...>; NodeDef: {{node zx}}` for one without default, and
// what CheckAttr says of the others.
Status CompleteAttrs(const OpSchema& schema, tensorflow::NodeDef* node);
// Removes attributes that equal their default, as a master does before it sends a graph.
void StripDefaultAttrs(const OpSchema& schema, tensorflow::NodeDef* node);

// The dtypes of a node's inputs and outputs, flattened, references included (FLOAT_REF). `node`
// must have complete attributes. Errors: InvalidArgument.
struct NodeTypes {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
};
StatusOr<NodeTypes> TypesOf(const OpSchema& schema, const tensorflow::NodeDef& node);

// Positions in the flattened list that one named argument covers.
struct ArgRange {
  int begin = 0;
  int end = 0;
};
StatusOr<ArgRange> InputRange(const OpSchema& schema, const tensorflow::NodeDef& node,
                              absl::string_view input_name);
StatusOr<ArgRange> OutputRange(const OpSchema& schema, const tensorflow::NodeDef& node,
                               absl::string_view output_name);

}  // namespace tensorfleet
