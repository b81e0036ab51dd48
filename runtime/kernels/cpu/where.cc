// Where: the positions of the elements that are not zero, row by row. Schema and shape rule:
// runtime/ops/gather_ops.cc.
#include <cstring>

#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// The bits of an element that make it other than zero: all but the signs of floats.
template <typename E>
E MeaningfulBits(DType dtype) {
  if constexpr (std::is_same_v<E, Bytes16>) {
    return {~uint64_t{0} >> 1, ~uint64_t{0} >> 1};  // complex128
  } else {
    const E all = static_cast<E>(~E{0});
    if (IsFloating(dtype)) return static_cast<E>(all >> 1);
    if (dtype == DType::kComplex64) return static_cast<E>(0x7fffffff7fffffffULL);
    return all;
  }
}

template <typename E>
bool IsNonZero(E element, E mask) {
  if constexpr (std::is_same_v<E, Bytes16>) {
    return ((element.low & mask.low) | (element.high & mask.high)) != 0;
  } else {
    return (element & mask) != 0;
  }
}

template <typename E>
StatusOr<Tensor> Positions(const KernelContext& ctx, const Tensor& input) {
  const E* elements = ElementsOf<E>(input);
  const E mask = MeaningfulBits<E>(input.dtype());
  const int64_t n = input.num_elements();
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += IsNonZero(elements[i], mask);
  const int rank = input.rank();
  TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, Shape({count, rank})));
  int64_t* to = out.mutable_values<int64_t>().data();
  if (rank == 1) {
    for (int64_t i = 0; i < n; ++i) {
      if (IsNonZero(elements[i], mask)) *to++ = i;
    }
    return out;
  }
  Integers position(rank, 0);
  for (int64_t i = 0; i < n; ++i) {
    if (IsNonZero(elements[i], mask)) to = std::copy(position.begin(), position.end(), to);
    for (int d = rank - 1; d >= 0; --d) {
      if (++position[d] < input.dim(d)) break;
      position[d] = 0;
    }
  }
  return out;
}

class Where final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    if (input.rank() == 0) return InvalidArgument("WhereOp : Unhandled input dimensions: 0");
    if (!IsPlainData(input.dtype())) {
      return Unimplemented("Where is not available for type ", DTypeName(input.dtype()));
    }
    Status status;
    VisitElement(input.dtype(), [&](auto tag) {
      using E = typename decltype(tag)::Type;
      if constexpr (std::is_trivially_copyable_v<E>) {
        StatusOr<Tensor> out = Positions<E>(ctx, input);
        status = out.status();
        if (out.ok()) ctx.SetOutput(0, *std::move(out));
      }
    });
    return status;
  }
};

}  // namespace

void RegisterWhereKernels(KernelRegistry& kernels) { kernels.Add<Where>("Where", kCpu); }

}  // namespace tensorfleet::cpu
