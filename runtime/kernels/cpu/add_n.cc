// Sums of many tensors of one shape.
#include "runtime/kernels/cpu/binary.h"
#include "runtime/kernels/cpu/variant_math.h"

namespace tensorfleet::cpu {
namespace {

class AddN final : public Kernel {
 public:
  explicit AddN(KernelInit& init) {
    init.Get("T", &type_);
    loop_ = FindAdd(type_);
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
    ForElements(ctx, first.num_elements(), 200 * ctx.num_inputs(), [&](int64_t begin, int64_t end) {
      for (int64_t from = begin; from < end; from += kBlock) {
        const int64_t n = std::min(kBlock, end - from);
        loop_(at(0, from), at(1, from), z + from * size, n, 1, 1);
        for (int i = 2; i < ctx.num_inputs(); ++i) {
          loop_(z + from * size, at(i, from), z + from * size, n, 1, 1);
        }
      }
    });
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  DType type_ = DType::kInvalid;
  BinaryLoop loop_ = nullptr;
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
