#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/missing_ops.h"
#include "runtime/cli/op_files.h"
#include "runtime/kernels/cpu/all.h"
#include "runtime/ops/all.h"

namespace tensorfleet::cli {
namespace {

// "T: float double; Tidx: int32 int64" of what an op's kernels were registered for.
std::string TypesOf(const std::string& op) {
  std::map<std::string, std::set<DType>> types;
  for (const TypeConstraints& constraints : CpuKernels().ConstraintsOf(op, kCpu)) {
    for (const TypeConstraint& constraint : constraints)
      types[constraint.attr].insert(constraint.type);
  }
  return absl::StrJoin(types, "; ", [](std::string* out, const auto& attr) {
    absl::StrAppend(out, attr.first, ": ",
                    absl::StrJoin(attr.second, " ", [](std::string* name, DType type) {
                      name->append(DTypeName(type));
                    }));
  });
}

int PrintFiles(const std::string& op) {
  const OpFiles files = FilesOf(op);
  if (files.schema.empty()) {
    std::cerr << "tensorfleet ops: there is no op '" << op << "'\n";
    return 1;
  }
  for (const std::string& file : files.schema) std::cout << "schema  " << file << '\n';
  for (const std::string& file : files.kernels) std::cout << "kernel  " << file << '\n';
  for (const std::string& file : files.tests) std::cout << "test    " << file << '\n';
  if (!files.kernels.empty()) std::cout << "test    runtime/kernels/optest\n";
  return 0;
}

int PrintOps(const std::string& wanted) {
  const std::vector<std::string> with_kernel = CpuKernels().Ops(kCpu);
  const std::set<std::string> kernels(with_kernel.begin(), with_kernel.end());
  bool found = false;
  for (const std::string& name : BuiltinOps().Names()) {
    if (!wanted.empty() && name != wanted) continue;
    found = true;
    std::cout << name;
    if (kernels.count(name) == 0) {
      std::cout << "  (no kernel of its own)";
    } else if (const std::string types = TypesOf(name); !types.empty()) {
      std::cout << "  " << types;
    }
    std::cout << '\n';
    if (wanted.empty()) continue;
    const StatusOr<const OpSchema*> schema = BuiltinOps().Find(name);
    if (schema.ok()) std::cout << "  " << (*schema)->Summary() << "\n  " << (*schema)->doc << '\n';
  }
  if (!found) {
    std::cerr << "tensorfleet ops: there is no op '" << wanted << "'\n";
    return 1;
  }
  return 0;
}

int PrintMissing(const std::string& path) {
  const StatusOr<std::vector<ExportedGraph>> graphs = ReadExportedGraphs(path);
  if (!graphs.ok()) {
    std::cerr << "tensorfleet ops: " << graphs.status().message() << '\n';
    return 1;
  }
  size_t refused = 0;
  for (const ExportedGraph& exported : *graphs) {
    for (const Refusal& refusal : MissingOps(exported.graph)) {
      ++refused;
      std::cout << refusal.op << "  " << refusal.why << "\n  " << refusal.nodes << " nodes, first "
                << refusal.first << '\n';
    }
  }
  if (refused == 0) std::cout << "every op of " << path << " runs here\n";
  return refused == 0 ? 0 : 1;
}

}  // namespace

void AddOpsCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "ops", "Lists the ops that servers run, and the types that each has kernels for");
  struct Flags {
    std::string op, where, graph;
  };
  auto flags = std::make_shared<Flags>();
  CLI::Option* op = command->add_option("op", flags->op, "One op only, with its signature");
  command->add_option(
      "--where", flags->where,
      "Names the files of this op's schema, kernels and tests, from the root of the "
      "sources");
  command
      ->add_option("--missing", flags->graph,
                   "What would be refused of this graph, and why: a GraphDef, a MetaGraphDef or a "
                   "SavedModel, binary or text. Ends with 1 when there is anything")
      ->excludes(op);
  command->callback([flags, exit_code] {
    *exit_code = !flags->graph.empty()   ? PrintMissing(flags->graph)
                 : !flags->where.empty() ? PrintFiles(flags->where)
                                         : PrintOps(flags->op);
  });
}

}  // namespace tensorfleet::cli
