// Merging and naming checkpoints. Schemas: runtime/ops/portable/checkpoint_ops.cc; the files:
// runtime/io.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/io/checkpoint_reader.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/io_kernel.h"

namespace tensorfleet::portable {
namespace {

class MergeCheckpointsKernel final : public IoKernel {
 public:
  explicit MergeCheckpointsKernel(KernelInit& init) {
    init.Get("delete_old_dirs", &delete_old_dirs_);
    init.Get("allow_missing_files", &allow_missing_);
  }

 private:
  Status ComputeIo(KernelContext& ctx) const override {
    if (ctx.input(0).rank() != 1) {
      return InvalidArgument("Input checkpoint_prefixes should be an 1-D tensor, got ",
                             ctx.input(0).shape().ToString(), " instead.");
    }
    if (ctx.input(1).num_elements() != 1) {
      return InvalidArgument("Input destination_prefix should be a scalar tensor, got ",
                             ctx.input(1).shape().ToString(), " instead.");
    }
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath destination,
                            ResolvePath(ctx.input(1).values<std::string>()[0]));
    std::vector<std::string> prefixes;
    std::set<std::string> directories;
    for (const std::string& prefix : ctx.input(0).values<std::string>()) {
      TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(prefix));
      if (path.file_system != destination.file_system) {
        return Unimplemented("checkpoints can be merged within one file system only, not from ",
                             prefix);
      }
      prefixes.push_back(path.path);
      directories.insert(DirectoryOf(path.path));
    }
    TFLEET_RETURN_IF_ERROR(
        MergeCheckpoints(*destination.file_system, prefixes, destination.path, allow_missing_));
    if (!delete_old_dirs_) return OkStatus();
    directories.erase(DirectoryOf(destination.path));
    for (const std::string& directory : directories) {
      const Status deleted = destination.file_system->DeleteDir(directory);
      // The checkpoint is complete; something of somebody else's in there is no reason to fail.
      if (!deleted.ok()) {
        LogInfo("a directory of checkpoint shards is left", {{"why", deleted.message()}});
      }
    }
    return OkStatus();
  }

  bool delete_old_dirs_ = true;
  bool allow_missing_ = false;
};

Status CheckScalars(const KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).rank() != 0) {
      return InvalidArgument("Input ", i, " of ", ctx.node().op(), " must be a scalar, not ",
                             ctx.input(i).shape().ToString());
    }
  }
  return OkStatus();
}

class ShardedFilenameKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(CheckScalars(ctx));
    ctx.SetOutput(0, Tensor::Scalar<std::string>(absl::StrFormat(
                         "%s-%05d-of-%05d", ctx.input(0).scalar<std::string>(),
                         ctx.input(1).scalar<int32_t>(), ctx.input(2).scalar<int32_t>())));
    return OkStatus();
  }
};

class ShardedFilespecKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(CheckScalars(ctx));
    ctx.SetOutput(0, Tensor::Scalar<std::string>(absl::StrFormat("%s-\?\?\?\?\?-of-%05d",
                                                                 ctx.input(0).scalar<std::string>(),
                                                                 ctx.input(1).scalar<int32_t>())));
    return OkStatus();
  }
};

}  // namespace

void RegisterCheckpointKernels(KernelRegistry& kernels) {
  kernels.Add<MergeCheckpointsKernel>("MergeV2Checkpoints", kCpu);
  kernels.Add<ShardedFilenameKernel>("ShardedFilename", kCpu);
  kernels.Add<ShardedFilespecKernel>("ShardedFilespec", kCpu);
}

}  // namespace tensorfleet::portable
