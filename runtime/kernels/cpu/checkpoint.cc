// Saving and restoring. Schemas: runtime/ops/checkpoint_ops.cc; the files: runtime/io.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Inputs 0 to 2 of SaveV2 and RestoreV2.
struct CheckpointInputs {
  ResolvedPath prefix;
  absl::Span<const std::string> names;
  absl::Span<const std::string> shapes_and_slices;
};

StatusOr<CheckpointInputs> ReadInputs(const KernelContext& ctx) {
  const Tensor &prefix = ctx.input(0), &names = ctx.input(1), &slices = ctx.input(2);
  if (prefix.num_elements() != 1) {
    return InvalidArgument("Input prefix should have a single element, got ", prefix.num_elements(),
                           " instead.");
  }
  if (names.rank() != 1) {
    return InvalidArgument("Input tensor_names should be an 1-D tensor, got ",
                           names.shape().ToString(), " instead.");
  }
  if (slices.rank() != 1) {
    return InvalidArgument("Input shape_and_slices should be an 1-D tensor, got ",
                           slices.shape().ToString(), " instead.");
  }
  if (names.num_elements() != slices.num_elements()) {
    return InvalidArgument("tensor_names and shape_and_slices have different number of elements: ",
                           names.num_elements(), " vs. ", slices.num_elements());
  }
  TFLEET_ASSIGN_OR_RETURN(ResolvedPath path, ResolvePath(prefix.values<std::string>()[0]));
  return CheckpointInputs{std::move(path), names.values<std::string>(),
                          slices.values<std::string>()};
}

// A value that is being saved cannot change: whoever updates the variable meanwhile writes
// elsewhere.
class SaveKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const CheckpointInputs in, ReadInputs(ctx));
    const int num_tensors = ctx.num_inputs() - kFirstTensor;
    if (static_cast<int>(in.names.size()) != num_tensors) {
      return InvalidArgument("Got ", in.names.size(), " tensor names but ", num_tensors,
                             " tensors.");
    }
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointWriter> writer,
                            CheckpointWriter::Open(in.prefix.file_system, in.prefix.path));
    for (int i = 0; i < num_tensors; ++i) {
      TFLEET_RETURN_IF_ERROR(
          Add(*writer, in.names[i], in.shapes_and_slices[i], ctx.input(kFirstTensor + i)));
      if (ctx.step().cancellation != nullptr && ctx.step().cancellation->is_cancelled()) {
        return ctx.step().cancellation->status();
      }
    }
    return writer->Finish();
  }
  bool IsExpensive() const override { return true; }

 private:
  static constexpr int kFirstTensor = 3;

  static Status Add(CheckpointWriter& writer, const std::string& name, const std::string& spec,
                    const Tensor& tensor) {
    if (spec.empty()) return writer.Add(name, tensor);
    TFLEET_ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(spec));
    if (parsed.piece_shape != tensor.shape()) {
      return InvalidArgument(
          "Slice in shape_and_slice specification does not match the shape of the tensor "
          "to  save: ",
          spec, ", tensor: ", tensor.shape().ToString());
    }
    return writer.AddSlice(name, parsed.shape, parsed.slice, tensor);
  }
};

class RestoreKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const CheckpointInputs in, ReadInputs(ctx));
    if (static_cast<int>(in.names.size()) != ctx.num_outputs()) {
      return InvalidArgument("Got ", in.names.size(), " tensor names, but ", ctx.num_outputs(),
                             " expected dtypes.");
    }
    StatusOr<std::unique_ptr<CheckpointReader>> reader =
        CheckpointReader::Open(in.prefix.file_system, in.prefix.path);
    if (absl::IsNotFound(reader.status())) {
      // The text that clients know, also where no older kind of checkpoint was looked for.
      return NotFound(
          "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
          ctx.input(0).values<std::string>()[0]);
    }
    TFLEET_RETURN_IF_ERROR(reader.status());
    const int64_t n = ctx.num_outputs();
    std::vector<StatusOr<Tensor>> restored(n, Unknown("not read"));
    ParallelFor(ctx, n, /*cost_per_unit=*/100'000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        restored[i] = Restore(**reader, in.names[i], in.shapes_and_slices[i],
                              ctx.node().output_type(static_cast<int>(i)));
      }
    });
    for (int64_t i = 0; i < n; ++i) {
      TFLEET_RETURN_IF_ERROR(restored[i].status());
      ctx.SetOutput(static_cast<int>(i), *std::move(restored[i]));
    }
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  static StatusOr<Tensor> Restore(const CheckpointReader& reader, const std::string& name,
                                  const std::string& spec, DType wanted) {
    TFLEET_ASSIGN_OR_RETURN(const CheckpointReader::Entry entry, reader.Find(name));
    if (entry.dtype != wanted) {
      return InvalidArgument("tensor_name = ", name, "; expected dtype ", DTypeName(wanted),
                             " does not equal original dtype ", DTypeName(entry.dtype));
    }
    if (spec.empty()) return reader.Read(name);
    TFLEET_ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(spec));
    if (parsed.shape != entry.shape) {
      return InvalidArgument(
          "tensor_name = ", name, "; shape in shape_and_slice spec ", parsed.shape.ToString(),
          " does not match the shape stored in checkpoint: ", entry.shape.ToString());
    }
    return reader.ReadSlice(name, parsed.slice);
  }
};

class MergeCheckpointsKernel final : public Kernel {
 public:
  explicit MergeCheckpointsKernel(KernelInit& init) {
    init.Get("delete_old_dirs", &delete_old_dirs_);
    init.Get("allow_missing_files", &allow_missing_);
  }

  Status Compute(KernelContext& ctx) const override {
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
  bool IsExpensive() const override { return true; }

 private:
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
  kernels.Add<SaveKernel>("SaveV2", kCpu);
  kernels.Add<RestoreKernel>("RestoreV2", kCpu);
  kernels.Add<MergeCheckpointsKernel>("MergeV2Checkpoints", kCpu);
  kernels.Add<ShardedFilenameKernel>("ShardedFilename", kCpu);
  kernels.Add<ShardedFilespecKernel>("ShardedFilespec", kCpu);
}

}  // namespace tensorfleet::cpu
