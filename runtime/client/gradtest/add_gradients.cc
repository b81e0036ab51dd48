// Adds gradients to graphs that come as files: how gradtest.py gets at this library.
//
//   add_gradients FOLDER   for each N.pb (a GraphDef) and N.txt in FOLDER, writes the graph with
//                          gradients to N.out.pb, and to N.out.txt a word per x: the gradient's
//                          name as a dense tensor, or "-" where there is none; or one line
//                          "error: ...". N.txt has the ys and the xs, a line each; a third line
//                          "twice" asks for the gradients of the sum of the gradients
//   add_gradients --list   a line per op: its name, and "gradient", "constant" or "missing"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/client/gradients.h"
#include "runtime/client/gradients/registry.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

StatusOr<std::vector<Output>> FindAll(const Scope& scope, const std::string& names) {
  std::vector<Output> outputs;
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    TFLEET_ASSIGN_OR_RETURN(const Output output, scope.FindOutput(name));
    outputs.push_back(output);
  }
  return outputs;
}

// The names of the gradients; the graph with them goes to `out`.
StatusOr<std::string> AddTo(const std::string& stem, const std::string& out) {
  std::ifstream graph_file(stem + ".pb", std::ios::binary), names(stem + ".txt");
  tensorflow::GraphDef graph;
  if (!graph.ParseFromIstream(&graph_file)) return InvalidArgument(stem, ".pb is no GraphDef");
  std::string ys, xs, times;
  std::getline(names, ys);
  std::getline(names, xs);
  std::getline(names, times);
  Scope root;
  TFLEET_RETURN_IF_ERROR(root.Import(graph));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Output> from, FindAll(root, ys));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Output> to, FindAll(root, xs));
  std::vector<Gradient> gradients = AddSymbolicGradients(root, from, to);
  if (times == "twice") {
    std::vector<Output> slopes;
    for (const Gradient& gradient : gradients) {
      if (!gradient.is_absent()) slopes.push_back(ToDense(root, gradient));
    }
    gradients = AddSymbolicGradients(root, slopes, to);
  }
  std::vector<std::string> found;
  for (const Gradient& gradient : gradients) {
    // An identity of its own: a gradient may be a tensor that the test feeds.
    found.push_back(gradient.is_absent()
                        ? "-"
                        : ops::Identity(root.Named("result"), ToDense(root, gradient)).name());
  }
  TFLEET_ASSIGN_OR_RETURN(const tensorflow::GraphDef result, root.ToGraphDef());
  std::ofstream result_file(out + ".pb", std::ios::binary);
  if (!result.SerializeToOstream(&result_file)) return Internal("cannot write ", out, ".pb");
  return absl::StrJoin(found, " ");
}

int AddToAll(const std::string& folder) {
  for (int i = 0; std::filesystem::exists(absl::StrCat(folder, "/", i, ".pb")); ++i) {
    const std::string stem = absl::StrCat(folder, "/", i), out = stem + ".out";
    const StatusOr<std::string> names = AddTo(stem, out);
    std::ofstream(out + ".txt") << (names.ok() ? *names : "error: " + names.status().ToString())
                                << "\n";
  }
  return 0;
}

int List() {
  for (const std::string& op : BuiltinGradients().Ops()) {
    const GradientRegistry::Entry& entry = *BuiltinGradients().Find(op);
    std::cout << op << " "
              << (entry.fn != nullptr      ? "gradient"
                  : !entry.missing.empty() ? "missing"
                                           : "constant")
              << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace tensorfleet

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: add_gradients FOLDER | --list\n";
    return 2;
  }
  return std::string(argv[1]) == "--list" ? tensorfleet::List() : tensorfleet::AddToAll(argv[1]);
}
