// What data sets share from run to run as resources: memory caches and seed generators.
#include "runtime/data/anonymous.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/memory_cache.h"
#include "runtime/data/seeds.h"

namespace tensorfleet::data {
namespace {

class MemoryCacheKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    return SetAnonymous(ctx, MemoryCacheRef::Adopt(new MemoryCache),
                        "N10tensorflow4data11MemoryCacheE");
  }
};

// seed, seed2 and, of one of the two, reshuffle.
class SeedGeneratorKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 0, "seed"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 1, "seed2"));
    bool varies = true;
    if (ctx.num_inputs() > 2) {
      TFLEET_ASSIGN_OR_RETURN(varies, ScalarInput<bool>(ctx, 2, "reshuffle"));
    }
    return SetAnonymous(
        ctx, SeedGeneratorRef::Adopt(new SeedGenerator(Seeds::OrRandom(seed, seed2), varies)),
        "N10tensorflow4data20SeedGeneratorManagerE");
  }
};

// A handle to nothing: the data set makes its own.
class DummyKernel final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    ResourceHandle handle;
    handle.device = ctx.step().device->name();
    handle.container = ctx.step().resources->default_container();
    handle.name = "_none";
    handle.type_name = "N10tensorflow4data5DummyE";
    ctx.SetOutput(0, Tensor::Scalar(std::move(handle)));
    return OkStatus();
  }
};

}  // namespace

void RegisterSharedStateKernels(KernelRegistry& kernels) {
  kernels.Add<MemoryCacheKernel>("AnonymousMemoryCache", kCpu);
  kernels.Add<DeleteAnonymousKernel<MemoryCache>>("DeleteMemoryCache", kCpu);
  kernels.Add<DummyKernel>("DummyMemoryCache", kCpu);
  kernels.Add<SeedGeneratorKernel>("AnonymousSeedGenerator", kCpu);
  kernels.Add<SeedGeneratorKernel>("AnonymousRandomSeedGenerator", kCpu);
  kernels.Add<DeleteAnonymousKernel<SeedGenerator>>("DeleteSeedGenerator", kCpu);
  kernels.Add<DeleteAnonymousKernel<SeedGenerator>>("DeleteRandomSeedGenerator", kCpu);
  kernels.Add<DummyKernel>("DummySeedGenerator", kCpu);
}

}  // namespace tensorfleet::data
