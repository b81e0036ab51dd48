// IteratorGetNextAsOptional: an element of an iterator, or none at its end.
#include "runtime/data/next.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/list/nesting.h"
#include "runtime/kernels/cpu/list/optional.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

class NextAsOptional final : public AsyncKernel {
 public:
  explicit NextAsOptional(KernelInit& init) { init.Get("output_types", &types_); }
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    data::NextElement(ctx, [this, &ctx, done = std::move(done)](data::IteratorRun::Result result) {
      done(result.ok() ? Wrap(ctx, *std::move(result)) : result.status());
    });
  }

 private:
  Status Wrap(KernelContext& ctx, std::optional<data::Element> element) const {
    if (!element.has_value()) {
      ctx.SetOutput(0, Tensor::Scalar(Variant(std::make_shared<Optional>())));
      return OkStatus();
    }
    TFLEET_RETURN_IF_ERROR(data::CheckTypes(*element, types_));
    int depth = 1;
    for (const Tensor& component : *element) {
      TFLEET_RETURN_IF_ERROR(NestWithin(component, &depth));
    }
    ctx.SetOutput(0,
                  Tensor::Scalar(Variant(std::make_shared<Optional>(*std::move(element), depth))));
    return OkStatus();
  }

  std::vector<DType> types_;
};

}  // namespace

void RegisterNextAsOptionalKernels(KernelRegistry& r) {
  r.Add<NextAsOptional>("IteratorGetNextAsOptional", kCpu);
}

}  // namespace tensorfleet::cpu
