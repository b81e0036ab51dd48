// Adds the nodes that stand for one call while it is expanded: names under the call's, its device,
// its control inputs.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"
#include "runtime/place/graph_edit.h"

namespace tensorfleet {

class AddedNodes {
 public:
  AddedNodes(const Node& call, Graph* graph)
      : graph_(graph), name_(call.name()), device_(call.requested_device()) {}

  const std::string& call_name() const { return name_; }
  const std::string& device() const { return device_; }
  std::string prefix(absl::string_view part) const;  // "call/part/"

  // A node "call/name" whose inputs are `inputs`, and whose attribute "T", where its op has one, is
  // the first input's base type. `fill` sets further attributes.
  template <typename Fill>
  StatusOr<Node*> Add(absl::string_view name, absl::string_view op,
                      const std::vector<Endpoint>& inputs, const Fill& fill) {
    tensorflow::NodeDef def = Definition(name, op, inputs);
    fill(&def);
    return Finish(std::move(def), inputs);
  }
  StatusOr<Node*> Add(absl::string_view name, absl::string_view op,
                      const std::vector<Endpoint>& inputs) {
    return Finish(Definition(name, op, inputs), inputs);
  }
  // An Identity, which is dead when its input is: a Switch itself never is.
  StatusOr<Node*> Identity(absl::string_view name, Endpoint input) {
    return Add(name, "Identity", {input});
  }
  // A NoOp after all of `nodes`.
  StatusOr<Node*> After(absl::string_view name, const std::vector<Node*>& nodes);

 private:
  tensorflow::NodeDef Definition(absl::string_view name, absl::string_view op,
                                 const std::vector<Endpoint>& inputs) const;
  StatusOr<Node*> Finish(tensorflow::NodeDef def, const std::vector<Endpoint>& inputs);

  Graph* const graph_;
  const std::string name_;
  const std::string device_;
};

// The data inputs of a node, in order. Errors: InvalidArgument for one that is not connected.
StatusOr<std::vector<Endpoint>> DataInputs(const Node& node);

}  // namespace tensorfleet
