// Functions of a graph: named subgraphs that nodes call, by PartitionedCall, If, While, or by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/graph.pb.h"
#include "runtime/graph/graph.h"

namespace tensorfleet {

// Immutable once built; share it. Adding makes a new library.
class FunctionLibrary {
 public:
  FunctionLibrary() = default;
  // Errors: InvalidArgument for a malformed signature or two different functions of one name.
  static StatusOr<std::shared_ptr<const FunctionLibrary>> FromProto(
      const tensorflow::FunctionDefLibrary& proto);
  // This library and `more`'s functions.
  StatusOr<std::shared_ptr<const FunctionLibrary>> With(
      const tensorflow::FunctionDefLibrary& more) const;

  const tensorflow::FunctionDef* Find(absl::string_view name) const;  // null when unknown
  // The schema under which a node may call the function by its name; null when unknown.
  std::shared_ptr<const OpSchema> Schema(absl::string_view name) const;
  // The name of the function that computes the gradient of `name`; empty when none is given.
  std::string Gradient(absl::string_view name) const;
  const tensorflow::FunctionDefLibrary& proto() const { return proto_; }
  bool empty() const { return by_name_.empty(); }

 private:
  struct Function {
    int index;  // in proto_
    std::shared_ptr<const OpSchema> schema;
  };
  tensorflow::FunctionDefLibrary proto_;
  absl::flat_hash_map<std::string, Function> by_name_;
};

// A function's body as a graph: `_Arg` nodes (attr index) for its inputs, `_Retval` nodes for its
// outputs.
struct FunctionBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;             // by index
  std::vector<Node*> returns;          // by index
  std::vector<Node*> control_returns;  // must run although nothing uses them
};

// Instantiates function `name` with the attributes `attrs` (for polymorphic bodies).
// Errors: NotFound, InvalidArgument.
StatusOr<FunctionBody> InstantiateFunction(
    const OpRegistry& ops, std::shared_ptr<const FunctionLibrary> library, absl::string_view name,
    const google::protobuf::Map<std::string, tensorflow::AttrValue>& attrs);

}  // namespace tensorfleet
