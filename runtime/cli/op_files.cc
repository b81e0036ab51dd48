#include "runtime/cli/op_files.h"

#include "absl/algorithm/container.h"
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

// The tests beside a file, else those of the nearest folder above that has any.
std::vector<std::string> TestsNear(const std::string& file) {
  std::vector<std::string> found;
  for (std::string folder = FolderOf(file); found.empty() && absl::StrContains(folder, '/');
       folder = FolderOf(folder)) {
    for (const char* test : kTests) {
      if (FolderOf(test) == folder) found.push_back(test);
    }
  }
  return found;
}

}  // namespace

OpFiles FilesOf(const std::string& op) {
  OpFiles files;
  for (const Family& family : kFamilies) {
    if (!family.contains(op)) continue;
    const bool is_schema = absl::StartsWith(family.file, "runtime/ops/");
    (is_schema ? files.schema : files.kernels).push_back(family.file);
  }
  for (const std::string& kernel : files.kernels) {
    for (const std::string& test : TestsNear(kernel)) {
      if (!absl::c_linear_search(files.tests, test)) files.tests.push_back(test);
    }
  }
  return files;
}

}  // namespace tensorfleet::cli
