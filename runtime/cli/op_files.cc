#include "runtime/cli/op_files.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/graph/op_schema.h"
#include "runtime/kernels/kernel_registry.h"
// Made by op_files.cmake.
#include "runtime/cli/op_families.inc"

namespace tensorfleet::cli {
namespace {

using Contains = bool (*)(const std::string& op);

template <auto kRegister>
bool WithOps(const std::string& op) {
  static const auto* const family = [] {
    auto* const made = new OpRegistry;
    kRegister(*made);
    return made;
  }();
  return family->Find(op).ok();
}

template <auto kRegister>
bool WithKernels(const std::string& op) {
  static const auto* const family = [] {
    auto* const made = new KernelRegistry;
    kRegister(*made);
    return made;
  }();
  return !family->ConstraintsOf(op, kCpu).empty();
}

struct Family {
  const char* file;
  Contains contains;
};

constexpr Family kFamilies[] = {
#include "runtime/cli/op_files.inc"
};

constexpr const char* kTests[] = {
#include "runtime/cli/op_tests.inc"
};

std::string FolderOf(const std::string& file) { return file.substr(0, file.rfind('/')); }

}  // namespace

OpFiles FilesOf(const std::string& op) {
  OpFiles files;
  for (const Family& family : kFamilies) {
    if (!family.contains(op)) continue;
    const bool is_schema = absl::StartsWith(family.file, "runtime/ops/");
    (is_schema ? files.schema : files.kernels).push_back(family.file);
  }
  for (const char* test : kTests) {
    const bool is_beside =
        std::any_of(files.kernels.begin(), files.kernels.end(),
                    [&](const std::string& kernel) { return FolderOf(kernel) == FolderOf(test); });
    if (is_beside) files.tests.push_back(test);
  }
  return files;
}

}  // namespace tensorfleet::cli
