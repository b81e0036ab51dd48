// BiasAdd and its gradient.
#include "runtime/kernels/cpu/math/binary.h"
#include "runtime/kernels/cpu/math/reduction.h"
#include "runtime/kernels/cpu/math/reduction_sum.h"

namespace tensorfleet::cpu {
namespace {

// A tensor as [outer][channels][inner].
struct Channels {
  int64_t outer = 1, count = 1, inner = 1;
};

StatusOr<Channels> ChannelsOf(const Shape& shape, bool channels_first) {
  if (shape.rank() < 2) {
    return InvalidArgument("Input tensor must be at least 2D: ", shape.ToString());
  }
  const int at = channels_first ? 1 : shape.rank() - 1;
  Channels channels;
  channels.count = shape.dim(at);
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < at) channels.outer *= shape.dim(i);
    if (i > at) channels.inner *= shape.dim(i);
  }
  return channels;
}

bool ReadChannelsFirst(KernelInit& init) {
  if (init.node().op() == "BiasAddV1") return false;
  std::string format;
  init.Get("data_format", &format);
  return format == "NCHW";
}

// One class for all types: the loop that adds is chosen when the kernel is made.
class BiasAdd final : public Kernel {
 public:
  explicit BiasAdd(KernelInit& init) : channels_first_(ReadChannelsFirst(init)) {
    init.Get("T", &type_);
    loop_ = FindAdd(type_);
    TFLEET_CHECK(loop_ != nullptr);
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    TFLEET_ASSIGN_OR_RETURN(const Channels c, ChannelsOf(value.shape(), channels_first_));
    if (bias.rank() != 1) {
      return InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    }
    if (bias.dim(0) != c.count) {
      return InvalidArgument("Must provide as many biases as the ",
                             channels_first_ ? "second" : "last",
                             " dimension of the input tensor: ", bias.shape().ToString(), " vs. ",
                             value.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, type_, value.shape()));
    const size_t size = ElementSize(type_);
    const char* x = static_cast<const char*>(value.raw());
    const char* b = static_cast<const char*>(bias.raw());
    char* y = static_cast<char*>(out.mutable_raw());
    // Short rows are added to several at a time, by as many copies of the biases.
    const int64_t at_once = std::clamp<int64_t>(kElementsAtOnce / std::max<int64_t>(c.count, 1), 1,
                                                std::max<int64_t>(c.outer, 1));
    std::vector<char> copies;
    if (at_once > 1 && value.num_elements() > 0) {
      copies.reserve(at_once * c.count * size);
      for (int64_t i = 0; i < at_once; ++i) copies.insert(copies.end(), b, b + c.count * size);
      b = copies.data();
    }
    const auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; row += at_once) {
        const size_t at = row * c.count * size;
        loop_(x + at, b, y + at, std::min(at_once, end - row) * c.count, 1, 1);
      }
    };
    const auto planes = [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const size_t at = plane * c.inner * size;
        loop_(x + at, b + plane % c.count * size, y + at, c.inner, 1, 0);
      }
    };
    if (value.num_elements() > 0) {
      if (c.inner == 1)
        ParallelFor(ctx, c.outer, 1 + c.count / 8, rows);
      else
        ParallelFor(ctx, c.outer * c.count, 5 + c.inner / 8, planes);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static constexpr int64_t kElementsAtOnce = 512;

  const bool channels_first_;
  DType type_ = DType::kInvalid;
  BinaryLoop loop_ = nullptr;
};

template <typename T>
class BiasAddGrad final : public Kernel {
 public:
  explicit BiasAddGrad(KernelInit& init) : channels_first_(ReadChannelsFirst(init)) {}

  Status Compute(KernelContext& ctx) const override {
    using R = Sum<T>;
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Channels c, ChannelsOf(in.shape(), channels_first_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(in.dtype(), {c.count}));
    T* to = out.template mutable_values<T>().data();
    std::fill(to, to + c.count, T(0));
    if (in.num_elements() > 0) {
      ReductionPlan plan;
      plan.first_is_reduced = true;
      plan.dims = {c.outer, c.count};
      if (c.inner > 1) plan.dims.push_back(c.inner);
      TFLEET_ASSIGN_OR_RETURN(const BufferRef buffer,
                              AllocateHostBuffer(c.count * sizeof(Widened<T>)));
      auto* sums = static_cast<Widened<T>*>(buffer->data());
      TFLEET_RETURN_IF_ERROR(Gather<R>(ctx, in.template values<T>().data(), plan, sums));
      for (int64_t i = 0; i < c.count; ++i) to[i] = R::Final(sums[i], 0);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const bool channels_first_;
};

}  // namespace

void RegisterBiasKernels(KernelRegistry& r) {
  ForEachType(Numbers(), [&](auto tag) {
    const DType type = kDTypeOf<typename decltype(tag)::type>;
    r.Add<BiasAdd>("BiasAdd", kCpu, {{"T", type}});
    r.Add<BiasAdd>("BiasAddV1", kCpu, {{"T", type}});
  });
  AddForTypes<BiasAddGrad>(r, "BiasAddGrad", Numbers());
}

}  // namespace tensorfleet::cpu
