// RangeDataset: numbers from one to another.
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/tensor/eigen.h"

namespace tensorfleet::data {
namespace {

// An unsigned distance is right for all starts and stops.
uint64_t Count(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return (distance - 1) / stride + 1;
}

class Range final : public Dataset {
 public:
  Range(ElementType type, int64_t start, int64_t stop, int64_t step)
      : Dataset(std::move(type), {}),
        start_(start),
        step_(step),
        count_(Count(start, stop, step)) {}
  uint64_t count() const { return count_; }
  int64_t Cardinality() const override {
    return static_cast<int64_t>(std::min<uint64_t>(count_, INT64_MAX));
  }
  Tensor At(uint64_t i) const {
    const int64_t value =
        static_cast<int64_t>(static_cast<uint64_t>(start_) + i * static_cast<uint64_t>(step_));
    switch (type().types[0]) {
      case DType::kInt64:
        return Tensor::Scalar<int64_t>(value);
      case DType::kInt32:
        return Tensor::Scalar<int32_t>(static_cast<int32_t>(value));
      case DType::kInt16:
        return Tensor::Scalar<int16_t>(static_cast<int16_t>(value));
      case DType::kInt8:
        return Tensor::Scalar<int8_t>(static_cast<int8_t>(value));
      case DType::kUInt8:
        return Tensor::Scalar<uint8_t>(static_cast<uint8_t>(value));
      case DType::kUInt16:
        return Tensor::Scalar<uint16_t>(static_cast<uint16_t>(value));
      case DType::kUInt32:
        return Tensor::Scalar<uint32_t>(static_cast<uint32_t>(value));
      case DType::kUInt64:
        return Tensor::Scalar<uint64_t>(static_cast<uint64_t>(value));
      case DType::kDouble:
        return Tensor::Scalar<double>(static_cast<double>(value));
      case DType::kHalf:
        return Tensor::Scalar<Eigen::half>(static_cast<Eigen::half>(static_cast<float>(value)));
      case DType::kBFloat16:
        return Tensor::Scalar<Eigen::bfloat16>(
            static_cast<Eigen::bfloat16>(static_cast<float>(value)));
      default:
        return Tensor::Scalar<float>(static_cast<float>(value));
    }
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const int64_t start_;
  const int64_t step_;
  const uint64_t count_;
};

class RangeIterator final : public Iterator {
 public:
  explicit RangeIterator(const Range* dataset) : dataset_(Kept(dataset)) {}
  bool MayWait() const override { return false; }
  StatusOr<bool> Next(Element* out) override {
    if (at_ >= dataset_->count()) return false;
    out->clear();
    out->push_back(dataset_->At(at_++));
    return true;
  }
  StatusOr<bool> Skip(int64_t n) override {
    const bool more = dataset_->count() - at_ >= static_cast<uint64_t>(n);
    at_ = more ? at_ + static_cast<uint64_t>(n) : dataset_->count();
    return more;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("at", static_cast<int64_t>(at_));
    return OkStatus();
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t at, from.GetInt("at"));
    at_ = std::min(static_cast<uint64_t>(at), dataset_->count());
    return OkStatus();
  }

 private:
  const std::shared_ptr<const Range> dataset_;
  uint64_t at_ = 0;
};

StatusOr<IteratorPtr> Range::MakeIterator(IteratorScope&, int) const {
  return IteratorPtr(std::make_unique<RangeIterator>(this));
}

class RangeKernel final : public DatasetKernel {
 public:
  explicit RangeKernel(KernelInit& init) : DatasetKernel(init) {
    if (!init.status().ok()) return;
    const std::vector<DType>& types = declared().types;
    const bool is_number =
        types.size() == 1 && IsPlainData(types[0]) &&
        (types[0] == DType::kHalf || types[0] == DType::kBFloat16 || types[0] == DType::kFloat ||
         types[0] == DType::kDouble || IsInteger(types[0]));
    if (!is_number) {
      init.Fail(InvalidArgument("RangeDataset gives one number; output_types is ",
                                types.empty() ? "empty" : DTypeName(types[0])));
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t start, ScalarInput<int64_t>(ctx, 0, "start"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t stop, ScalarInput<int64_t>(ctx, 1, "stop"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t step, ScalarInput<int64_t>(ctx, 2, "step"));
    if (step == 0) return InvalidArgument("step must be a non-zero integer.");
    ElementType type = declared();
    type.shapes[0] = PartialShape(Shape());
    return std::make_shared<Range>(std::move(type), start, stop, step);
  }
};

}  // namespace

void RegisterRangeKernels(KernelRegistry& kernels) {
  kernels.Add<RangeKernel>("RangeDataset", kCpu);
}

}  // namespace tensorfleet::data
