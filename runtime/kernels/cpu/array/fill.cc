// Kernels that make tensors out of little: Fill, ZerosLike, OnesLike, Empty, OneHot.
// Schemas and shape rules: runtime/ops/array/fill_ops.cc.
#include <complex>
#include <cstring>
#include <string>

#include <Eigen/Core>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/list/variant_math.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Elements per piece when a big fill is shared among threads.
constexpr int64_t kPiece = 1 << 15;

void FillShared(const KernelContext& ctx, DType dtype, void* to, const void* value, int64_t n) {
  if (n <= kPiece) return FillElements(dtype, to, value, n);
  const int64_t size = ElementSize(dtype);
  ParallelFor(ctx, (n + kPiece - 1) / kPiece, kPiece / 4, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kPiece;
    FillElements(dtype, static_cast<char*>(to) + first * size, value,
                 std::min(n, end * kPiece) - first);
  });
}

class Fill final : public Kernel {
 public:
  explicit Fill(KernelInit& init) { init.Get("T", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& dims = ctx.input(0);
    const Tensor& value = ctx.input(1);
    // A number is taken for a vector of one, and a vector of one for a number: old graphs have
    // both.
    if (dims.rank() > 1) {
      return InvalidArgument("dims must represent a vector, got shape ", dims.shape().ToString());
    }
    if (value.num_elements() != 1 || value.rank() > 1) {
      return InvalidArgument("value must represent a scalar, got shape ", value.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            ShapeFromInput(dims.rank() == 0 ? dims.Flat() : dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    FillShared(ctx, dtype_, out.mutable_raw(), value.raw(), shape.num_elements());
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
};

class ZerosLike final : public Kernel {
 public:
  explicit ZerosLike(KernelInit& init) { init.Get("T", &dtype_); }
  Status Compute(KernelContext& ctx) const override {
    if (!IsPlainData(dtype_)) {
      TFLEET_ASSIGN_OR_RETURN(Tensor out, ZerosLikeTensor(ctx.input(0)));
      ctx.SetOutput(0, std::move(out));
      return OkStatus();
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, dtype_, ctx.input(0).shape()));
    const char zero[16] = {};
    FillShared(ctx, dtype_, out.mutable_raw(), zero, out.num_elements());
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
};

template <typename T>
void StoreOne(char* bytes) {
  const T one(1);
  std::memcpy(bytes, &one, sizeof(one));
}

// The bytes of 1 in a type of numbers, or of true.
bool OneOf(DType dtype, char* bytes) {
  switch (dtype) {
    case DType::kFloat:
      StoreOne<float>(bytes);
      return true;
    case DType::kDouble:
      StoreOne<double>(bytes);
      return true;
    case DType::kHalf:
      StoreOne<Eigen::half>(bytes);
      return true;
    case DType::kBFloat16:
      StoreOne<Eigen::bfloat16>(bytes);
      return true;
    case DType::kComplex64:
      StoreOne<std::complex<float>>(bytes);
      return true;
    case DType::kComplex128:
      StoreOne<std::complex<double>>(bytes);
      return true;
    case DType::kBool:
      StoreOne<uint8_t>(bytes);
      return true;
    default:
      if (!IsInteger(dtype)) return false;
      std::memset(bytes, 0, 16);
      bytes[0] = 1;  // little-endian
      return true;
  }
}

class OnesLike final : public Kernel {
 public:
  explicit OnesLike(KernelInit& init) {
    init.Get("T", &dtype_);
    if (init.status().ok() && !OneOf(dtype_, one_)) {
      init.Fail(InvalidArgument("OnesLike has no one of type ", DTypeName(dtype_)));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, dtype_, ctx.input(0).shape()));
    FillShared(ctx, dtype_, out.mutable_raw(), one_, out.num_elements());
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  alignas(16) char one_[16] = {};
};

class Empty final : public Kernel {
 public:
  explicit Empty(KernelInit& init) {
    init.Get("dtype", &dtype_);
    init.Get("init", &zero_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeFromInput(ctx.input(0)));
    TFLEET_ASSIGN_OR_RETURN(Tensor out,
                            zero_ ? Tensor::Zeros(dtype_, shape) : ctx.Allocate(dtype_, shape));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  bool zero_ = false;
};

// _ParallelConcatStart: memory that _ParallelConcatUpdate nodes fill row by row.
class ParallelConcatStart final : public Kernel {
 public:
  explicit ParallelConcatStart(KernelInit& init) {
    init.Get("dtype", &dtype_);
    PartialShape shape;
    init.Get("shape", &shape);
    StatusOr<Shape> full = shape.ToShape();
    if (full.ok()) {
      shape_ = *full;
    } else {
      init.Fail(full.status());
    }
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape_));
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
};

class ParallelConcatUpdate final : public Kernel {
 public:
  explicit ParallelConcatUpdate(KernelInit& init) { init.Get("loc", &row_); }
  Status Compute(KernelContext& ctx) const override {
    Tensor value = ctx.TakeInput(0);
    const Tensor& update = ctx.input(1);
    if (value.rank() == 0) return InvalidArgument("value cannot be a scalar.");
    if (update.rank() != value.rank() || update.dim(0) != 1 ||
        update.shape().SubShape(1, update.rank()) != value.shape().SubShape(1, value.rank())) {
      return InvalidArgument("value and update shape doesn't match: ", value.shape().ToString(),
                             " vs. ", update.shape().ToString());
    }
    const int64_t row = row_ < 0 ? row_ + value.dim(0) : row_;
    if (row < 0 || row >= value.dim(0)) {
      return InvalidArgument("loc ", row_, " is not a row of ", value.shape().ToString());
    }
    if (!value.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(value, value.Clone());
    }
    const int64_t width = update.num_elements();
    CopyElements(value.dtype(), MutableElementAt(value, row * width), update.raw(), width);
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }

 private:
  int64_t row_ = 0;
};

class OneHot final : public Kernel {
 public:
  explicit OneHot(KernelInit& init) {
    init.Get("T", &dtype_);
    init.Get("axis", &axis_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& indices = ctx.input(0);
    const Tensor& depth_input = ctx.input(1);
    for (const auto& [i, name] : {std::pair(1, "depth"), {2, "on_value"}, {3, "off_value"}}) {
      if (!ctx.input(i).shape().is_scalar()) {
        return InvalidArgument(name,
                               " must be a scalar, but got: ", ctx.input(i).shape().ToString());
      }
    }
    const int64_t depth = IntegerAt(depth_input, 0);
    if (depth < 0) return InvalidArgument("depth must be non-negative, got: ", depth);
    const int rank = indices.rank();
    if (axis_ != -1 && (axis_ < 0 || axis_ > rank)) {
      return InvalidArgument("Expected axis to be -1 or between [0, ", rank + 1,
                             ").  But received: ", axis_);
    }
    const int64_t axis = axis_ == -1 ? rank : axis_;
    Integers dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype_, shape));
    FillShared(ctx, dtype_, out.mutable_raw(), ctx.input(3).raw(), out.num_elements());
    // Output [prefix, depth, suffix]; index [prefix, suffix].
    int64_t suffix = 1;
    for (int i = static_cast<int>(axis); i < rank; ++i) suffix *= indices.dim(i);
    std::vector<int64_t> storage;
    const absl::Span<const int64_t> hot = WidenedIntegers(indices, &storage);
    VisitElement(dtype_, [&](auto tag) {
      using E = typename decltype(tag)::Type;
      const E on = *ElementsOf<E>(ctx.input(2));
      E* to = MutableElementsOf<E>(out);
      for (int64_t i = 0; i < static_cast<int64_t>(hot.size()); ++i) {
        if (hot[i] < 0 || hot[i] >= depth) continue;  // stays off everywhere
        to[(i / suffix * depth + hot[i]) * suffix + i % suffix] = on;
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType dtype_ = DType::kInvalid;
  int64_t axis_ = -1;
};

}  // namespace

void RegisterFillKernels(KernelRegistry& kernels) {
  kernels.Add<Fill>("Fill", kCpu);
  kernels.Add<ZerosLike>("ZerosLike", kCpu);
  kernels.Add<OnesLike>("OnesLike", kCpu);
  kernels.Add<Empty>("Empty", kCpu);
  kernels.Add<ParallelConcatStart>("_ParallelConcatStart", kCpu);
  kernels.Add<ParallelConcatUpdate>("_ParallelConcatUpdate", kCpu);
  kernels.Add<OneHot>("OneHot", kCpu);
}

}  // namespace tensorfleet::cpu
