// Sums of many tensors of one shape.
#include <array>

#include "runtime/kernels/cpu/list/variant_math.h"
#include "runtime/kernels/cpu/math/binary.h"
#include "runtime/kernels/cpu/math/reduction_sum.h"

namespace tensorfleet::cpu {
namespace {

// The most inputs that are added up in one pass.
constexpr int kFew = 4;

// out[i] = in[0][i] + in[1][i] + ..., of two to kFew inputs; `out` may be one of them.
using SumFew = void (*)(const void* const* in, int count, void* out, int64_t n);

template <typename T>
void SumFewOf(const void* const* in, int count, void* out, int64_t n) {
  T* z = static_cast<T*>(out);
  const auto x = [&](int k) { return static_cast<const T*>(in[k]); };
  const T *a = x(0), *b = x(1), *c = count > 2 ? x(2) : nullptr, *d = count > 3 ? x(3) : nullptr;
  if (count == 2) {
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) z[i] = WrapAdd(a[i], b[i]);
  } else if (count == 3) {
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) z[i] = WrapAdd(WrapAdd(a[i], b[i]), c[i]);
  } else {
    TFLEET_VECTORIZE
    for (int64_t i = 0; i < n; ++i) z[i] = WrapAdd(WrapAdd(WrapAdd(a[i], b[i]), c[i]), d[i]);
  }
}

// Each sum of two is rounded, as TensorFlow does it.
template <typename T>
void SumFewSmall(const void* const* in, int count, void* out, int64_t n) {
  static const BinaryLoop add = FindAdd(kDTypeOf<T>);
  add(in[0], in[1], out, n, 1, 1);
  for (int k = 2; k < count; ++k) add(out, in[k], out, n, 1, 1);
}

SumFew FindSumFew(DType type) {
  SumFew found = nullptr;
  ForEachType(Numbers(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> != type) return;
    if constexpr (kIsSmallFloat<T>)
      found = &SumFewSmall<T>;
    else
      found = &SumFewOf<T>;
  });
  return found;
}

class AddN final : public Kernel {
 public:
  explicit AddN(KernelInit& init) {
    init.Get("T", &type_);
    loop_ = FindSumFew(type_);
    if (loop_ == nullptr) {
      init.Fail(
          Unimplemented("op ", init.node().op(), " has no CPU kernel for ", DTypeName(type_)));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    const Tensor& first = ctx.input(0);
    if (ctx.num_inputs() == 1) {
      ctx.SetOutput(0, ctx.TakeInput(0));
      return OkStatus();
    }
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() != first.shape()) {
        return InvalidArgument(
            "Inputs to operation ", ctx.node().name(), " of type ", ctx.node().op(),
            " must have the same size and shape.  Input 0: ", first.shape().ToString(),
            " != input ", i, ": ", ctx.input(i).shape().ToString());
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, type_, first.shape()));
    const size_t size = ElementSize(type_);
    char* z = static_cast<char*>(out.mutable_raw());
    const auto at = [&](int input, int64_t element) {
      return static_cast<const char*>(ctx.input(input).raw()) + element * size;
    };
    // Block by block, so that a partial sum stays in the cache.
    constexpr int64_t kBlock = 2048;
    ForElements(ctx, first.num_elements(), 80 * ctx.num_inputs(), [&](int64_t begin, int64_t end) {
      std::array<const void*, kFew> few;
      for (int64_t from = begin; from < end; from += kBlock) {
        const int64_t n = std::min(kBlock, end - from);
        few[0] = at(0, from);
        for (int next = 1; next < ctx.num_inputs();) {
          int count = 1;
          while (count < kFew && next < ctx.num_inputs()) few[count++] = at(next++, from);
          loop_(few.data(), count, z + from * size, n);
          few[0] = z + from * size;
        }
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType type_ = DType::kInvalid;
  SumFew loop_ = nullptr;
};

// Sums of what variants hold.
class AddVariants final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    Tensor sum = ctx.TakeInput(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      TFLEET_ASSIGN_OR_RETURN(sum, AddTensors(std::move(sum), ctx.input(i)));
    }
    ctx.SetOutput(0, std::move(sum));
    return OkStatus();
  }
};

}  // namespace

void RegisterAddNKernels(KernelRegistry& r) {
  const auto add = [&](auto tag) {
    const DType type = kDTypeOf<typename decltype(tag)::type>;
    r.Add<AddN>("AddN", kCpu, {{"T", type}});
    r.Add<AddN>("AccumulateNV2", kCpu, {{"T", type}});
  };
  ForEachType(Numbers(), add);
  r.Add<AddVariants>("AddN", kCpu, {{"T", DType::kVariant}});
}

}  // namespace tensorfleet::cpu
