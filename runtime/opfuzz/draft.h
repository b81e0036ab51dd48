// A graph in the making, with what has to run before it and what is fed to it.
#pragma once

#include <string>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/graph/attr.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::opfuzz {

struct Feed {
  std::string name;
  Tensor value;
};

struct Draft {
  tensorflow::GraphDef graph;
  std::vector<std::string> first;  // targets of the step that fills variables, queues and tables
  std::vector<Feed> feeds;
  std::string device;  // what new nodes ask for

  // A node with a name of its own; its attributes are the caller's to set.
  tensorflow::NodeDef* Add(const std::string& op, const std::vector<std::string>& inputs);
  // Endpoints with the tensor in them: a constant; a placeholder that is fed, of a known shape or
  // not.
  std::string AddConst(const Tensor& value);
  std::string AddFed(const Tensor& value, bool shape_is_known);
};

}  // namespace tensorfleet::opfuzz
