#include "runtime/session/master/for_tensorflow.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tensorfleet {
namespace {

// `node` becomes the last update; the nodes before it go to `added`.
void ReplaceParallelConcat(tensorflow::NodeDef* node, std::vector<tensorflow::NodeDef>* added) {
  std::vector<std::string> rows, controls;
  for (const std::string& input : node->input()) {
    (absl::StartsWith(input, "^") ? controls : rows).push_back(input);
  }
  if (rows.empty()) return;  // an error, which the worker tells
  const tensorflow::AttrValue type = node->attr().at("T");
  tensorflow::NodeDef start;
  start.set_name(absl::StrCat(node->name(), "/start"));
  start.set_op("_ParallelConcatStart");
  start.set_device(node->device());
  (*start.mutable_attr())["dtype"] = type;
  (*start.mutable_attr())["shape"] = node->attr().at("shape");
  // It has no inputs: this keeps it in the loop, and in the branch, of its rows.
  const std::vector<std::string> first = absl::StrSplit(rows[0], ':');
  start.add_input(absl::StrCat("^", first[0]));
  for (const std::string& control : controls) {
    if (control != start.input(0)) start.add_input(control);
  }
  std::string before = start.name();
  added->push_back(std::move(start));
  for (size_t i = 0; i < rows.size(); ++i) {
    tensorflow::NodeDef update;
    const bool is_last = i + 1 == rows.size();
    update.set_name(is_last ? node->name() : absl::StrCat(node->name(), "/row_", i));
    update.set_op("_ParallelConcatUpdate");
    update.set_device(node->device());
    update.add_input(before);
    update.add_input(rows[i]);
    (*update.mutable_attr())["T"] = type;
    (*update.mutable_attr())["loc"].set_i(static_cast<int64_t>(i));
    before = update.name();
    if (is_last) {
      *node = std::move(update);
    } else {
      added->push_back(std::move(update));
    }
  }
}

}  // namespace

void PrepareForTensorFlow(tensorflow::GraphDef* piece) {
  std::vector<tensorflow::NodeDef> added;
  for (tensorflow::NodeDef& node : *piece->mutable_node()) {
    if (node.op() == "ParallelConcat") ReplaceParallelConcat(&node, &added);
  }
  for (tensorflow::NodeDef& node : added) *piece->add_node() = std::move(node);
}

}  // namespace tensorfleet
