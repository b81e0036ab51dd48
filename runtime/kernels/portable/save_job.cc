#include "runtime/kernels/portable/save_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/io/io_interest.h"
#include "runtime/kernels/buffer_snapshot.h"
#include "runtime/kernels/portable/checkpoint_inputs.h"

namespace tensorfleet::portable {
namespace {

constexpr int kFirstTensor = 3;  // prefix, names and slices come before
// Less is held as it is: whoever updates rows of it meanwhile copies all of it, in half a
// millisecond at most; a snapshot's reader copies it always.
constexpr size_t kWorthASnapshot = 2 << 20;
constexpr int64_t kWorthYielding = int64_t{64} << 20;

Status WhyCancelled(const CancellationManager* cancellation) {
  if (cancellation == nullptr || !cancellation->is_cancelled()) return OkStatus();
  return cancellation->status();
}

}  // namespace

// One value of a save, as it was when the save began.
class FrozenValue final : public ByteSource {
 public:
  explicit FrozenValue(Tensor value) {
    if (IsPlainData(value.dtype()) && value.bytes() >= kWorthASnapshot) {
      snapshot_ = std::make_unique<BufferSnapshot>(std::move(value));
    } else {
      small_ = std::move(value);
    }
  }
  // 0 for what is no snapshot, and takes no time to write.
  int64_t bytes() const {
    return snapshot_ ? static_cast<int64_t>(ElementSize(snapshot_->dtype())) *
                           snapshot_->shape().num_elements()
                     : 0;
  }
  const Shape& shape() const { return snapshot_ ? snapshot_->shape() : small_.shape(); }
  SavedValue saved(const CancellationManager* cancellation) {
    cancellation_ = cancellation;
    if (snapshot_ == nullptr) return SavedValue(small_);
    return SavedValue(snapshot_->dtype(), snapshot_->shape(), this);
  }
  StatusOr<absl::string_view> Next() override {
    TFLEET_RETURN_IF_ERROR(WhyCancelled(cancellation_));
    return snapshot_->Next();
  }

 private:
  const CancellationManager* cancellation_ = nullptr;
  Tensor small_;
  std::unique_ptr<BufferSnapshot> snapshot_;
};

SaveJob::SaveJob(FileSystem* files, std::string prefix, Tensor names, Tensor shapes_and_slices)
    : files_(files),
      prefix_(std::move(prefix)),
      names_(std::move(names)),
      shapes_and_slices_(std::move(shapes_and_slices)) {}

SaveJob::~SaveJob() = default;

StatusOr<std::unique_ptr<SaveJob>> SaveJob::Freeze(KernelContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const CheckpointInputs in, ReadCheckpointInputs(ctx));
  const size_t num_tensors = ctx.num_inputs() - kFirstTensor;
  if (in.names.size() != num_tensors) {
    return InvalidArgument("Got ", in.names.size(), " tensor names but ", num_tensors, " tensors.");
  }
  std::unique_ptr<SaveJob> job(
      new SaveJob(in.prefix.file_system, in.prefix.path, ctx.input(1), ctx.input(2)));
  for (size_t i = 0; i < num_tensors; ++i) {
    job->values_.push_back(
        std::make_unique<FrozenValue>(ctx.TakeInput(kFirstTensor + static_cast<int>(i))));
  }
  return job;
}

bool SaveJob::is_long() const {
  int64_t bytes = 0;
  for (const auto& value : values_) bytes += value->bytes();
  return bytes >= kWorthYielding;
}

bool SaveJob::has_snapshots() const {
  return std::any_of(values_.begin(), values_.end(),
                     [](const auto& value) { return value->bytes() > 0; });
}

Status SaveJob::Write(CancellationManager* cancellation) {
  const ScopedIoInterest interest(cancellation);
  TFLEET_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointWriter> writer,
                          CheckpointWriter::Open(files_, prefix_));
  TFLEET_RETURN_IF_ERROR(WriteValues(*writer, cancellation));
  return writer->Finish();
}

StatusOr<CheckpointPart> SaveJob::WritePart(const std::string& suffix,
                                            CancellationManager* cancellation) {
  const ScopedIoInterest interest(cancellation);
  TFLEET_ASSIGN_OR_RETURN(
      const std::unique_ptr<CheckpointWriter> writer,
      CheckpointWriter::Open(files_, absl::StrCat(prefix_, suffix), CheckpointWriter::Kind::kPart));
  TFLEET_RETURN_IF_ERROR(WriteValues(*writer, cancellation));
  return writer->FinishPart();
}

Status SaveJob::WriteValues(CheckpointWriter& writer, CancellationManager* cancellation) {
  const absl::Span<const std::string> names = names_.values<std::string>();
  const absl::Span<const std::string> specs = shapes_and_slices_.values<std::string>();
  for (size_t i = 0; i < values_.size(); ++i) {
    TFLEET_RETURN_IF_ERROR(WhyCancelled(cancellation));
    const SavedValue value = values_[i]->saved(cancellation);
    if (specs[i].empty()) {
      TFLEET_RETURN_IF_ERROR(writer.Add(names[i], value));
    } else {
      TFLEET_ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(specs[i]));
      if (parsed.piece_shape != value.shape()) {
        return InvalidArgument(
            "Slice in shape_and_slice specification does not match the shape of the tensor to  "
            "save: ",
            specs[i], ", tensor: ", value.shape().ToString());
      }
      TFLEET_RETURN_IF_ERROR(writer.AddSlice(names[i], parsed.shape, parsed.slice, value));
    }
    values_[i].reset();
  }
  return OkStatus();
}

}  // namespace tensorfleet::portable
