// Whole files. Schemas: runtime/ops/portable/file_ops.cc.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/file_system.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/io_kernel.h"

namespace tensorfleet::portable {
namespace {

StatusOr<ResolvedPath> PathInput(const KernelContext& ctx) {
  if (ctx.input(0).num_elements() != 1) {
    return InvalidArgument("Input filename tensor must be scalar, but had shape: ",
                           ctx.input(0).shape().ToString());
  }
  return ResolvePath(ctx.input(0).values<std::string>()[0]);
}

class ReadFileKernel final : public IoKernel {
  Status ComputeIo(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, PathInput(ctx));
    TFLEET_ASSIGN_OR_RETURN(std::string contents, ReadWholeFile(*path.file_system, path.path));
    ctx.SetOutput(0, Tensor::Scalar<std::string>(std::move(contents)));
    return OkStatus();
  }
};

class WriteFileKernel final : public IoKernel {
  Status ComputeIo(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, PathInput(ctx));
    if (ctx.input(1).num_elements() != 1) {
      return InvalidArgument("Contents tensor must be scalar, but had shape: ",
                             ctx.input(1).shape().ToString());
    }
    TFLEET_RETURN_IF_ERROR(path.file_system->CreateDirs(DirectoryOf(path.path)));
    return WriteWholeFile(*path.file_system, path.path, ctx.input(1).values<std::string>()[0]);
  }
};

class MatchingFilesKernel final : public IoKernel {
  Status ComputeIo(KernelContext& ctx) const override {
    if (ctx.input(0).rank() > 1) {
      return InvalidArgument("Input patterns tensor must be scalar or vector, but had shape: ",
                             ctx.input(0).shape().ToString());
    }
    std::vector<std::string> found;
    for (const std::string& pattern : ctx.input(0).values<std::string>()) {
      TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(pattern));
      TFLEET_ASSIGN_OR_RETURN(std::vector<std::string> matched, Glob(*path.file_system, path.path));
      found.insert(found.end(), matched.begin(), matched.end());
    }
    std::sort(found.begin(), found.end());
    ctx.SetOutput(0, Tensor::Vector<std::string>(found));
    return OkStatus();
  }
};

}  // namespace

void RegisterFileKernels(KernelRegistry& kernels) {
  kernels.Add<ReadFileKernel>("ReadFile", kCpu);
  kernels.Add<WriteFileKernel>("WriteFile", kCpu);
  kernels.Add<MatchingFilesKernel>("MatchingFiles", kCpu);
}

}  // namespace tensorfleet::portable
