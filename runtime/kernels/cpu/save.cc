// Saving. Schemas: runtime/ops/checkpoint_ops.cc; the files: runtime/io.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/checkpoint_writer.h"
#include "runtime/kernels/cpu/buffer_snapshot.h"
#include "runtime/kernels/cpu/checkpoint_inputs.h"
#include "runtime/kernels/cpu/io_kernel.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {

StatusOr<CheckpointInputs> ReadCheckpointInputs(const KernelContext& ctx) {
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

namespace {

// Less is held as it is: whoever updates it meanwhile copies it.
constexpr size_t kWorthASnapshot = 1 << 16;
// Less is written so soon that it is in nobody's way; a thread that yields to all others would only
// take longer over it.
constexpr int64_t kWorthYielding = int64_t{64} << 20;

// One value of a save, as it was when the save began.
class FrozenValue final : public ByteSource {
 public:
  FrozenValue(const KernelContext* ctx, Tensor value) : ctx_(ctx) {
    if (IsPlainData(value.dtype()) && value.bytes() >= kWorthASnapshot) {
      snapshot_ = std::make_unique<BufferSnapshot>(std::move(value));
    } else {
      small_ = std::move(value);
    }
  }
  // 0 for what takes no time to write.
  int64_t bytes() const {
    return snapshot_ ? static_cast<int64_t>(ElementSize(snapshot_->dtype())) *
                           snapshot_->shape().num_elements()
                     : 0;
  }
  const Shape& shape() const { return snapshot_ ? snapshot_->shape() : small_.shape(); }
  SavedValue saved() {
    if (snapshot_ == nullptr) return SavedValue(small_);
    return SavedValue(snapshot_->dtype(), snapshot_->shape(), this);
  }
  StatusOr<absl::string_view> Next() override {
    TFLEET_RETURN_IF_ERROR(CheckCancelled(*ctx_));
    return snapshot_->Next();
  }

 private:
  const KernelContext* const ctx_;
  Tensor small_;
  std::unique_ptr<BufferSnapshot> snapshot_;
};

// Training goes on while the bytes go out: the values are frozen at once, and written on another
// thread, in the time that steps leave. The op is done when the files are safe on the disk.
class SaveKernel final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    StatusOr<CheckpointInputs> in = ReadCheckpointInputs(ctx);
    if (!in.ok()) return done(in.status());
    const size_t num_tensors = ctx.num_inputs() - kFirstTensor;
    if (in->names.size() != num_tensors) {
      return done(InvalidArgument("Got ", in->names.size(), " tensor names but ", num_tensors,
                                  " tensors."));
    }
    std::vector<std::unique_ptr<FrozenValue>> values;
    int64_t bytes = 0;
    for (size_t i = 0; i < num_tensors; ++i) {
      values.push_back(
          std::make_unique<FrozenValue>(&ctx, ctx.TakeInput(kFirstTensor + static_cast<int>(i))));
      bytes += values.back()->bytes();
    }
    // std::function wants what can be copied.
    auto job = std::make_shared<Job>(Job{*std::move(in), std::move(values)});
    const bool yields = bytes >= kWorthYielding;
    (yields ? RunBesideSteps : RunOnIoThread)(
        [&ctx, yields, job = std::move(job), done = std::move(done)]() mutable {
          const Status saved = Save(ctx, *job);
          job.reset();  // before anybody hears of it: the memory is free then
          if (!yields) return done(saved);
          // The rest of the step takes locks that others want: no work for a thread that yields.
          RunOnIoThread([saved, done = std::move(done)] { done(saved); });
        });
  }

 private:
  static constexpr int kFirstTensor = 3;
  struct Job {
    CheckpointInputs in;
    std::vector<std::unique_ptr<FrozenValue>> values;
  };

  static Status Save(const KernelContext& ctx, Job& job) {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointWriter> writer,
                            CheckpointWriter::Open(job.in.prefix.file_system, job.in.prefix.path));
    for (size_t i = 0; i < job.values.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(CheckCancelled(ctx));
      TFLEET_RETURN_IF_ERROR(
          Add(*writer, job.in.names[i], job.in.shapes_and_slices[i], *job.values[i]));
      job.values[i].reset();
    }
    return writer->Finish();
  }

  static Status Add(CheckpointWriter& writer, const std::string& name, const std::string& spec,
                    FrozenValue& value) {
    if (spec.empty()) return writer.Add(name, value.saved());
    TFLEET_ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(spec));
    if (parsed.piece_shape != value.shape()) {
      return InvalidArgument(
          "Slice in shape_and_slice specification does not match the shape of the tensor "
          "to  save: ",
          spec, ", tensor: ", value.shape().ToString());
    }
    return writer.AddSlice(name, parsed.shape, parsed.slice, value.saved());
  }
};

}  // namespace

void RegisterSaveKernels(KernelRegistry& kernels) { kernels.Add<SaveKernel>("SaveV2", kCpu); }

}  // namespace tensorfleet::cpu
