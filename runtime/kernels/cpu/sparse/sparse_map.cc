// AddSparseToTensorsMap, AddManySparseToTensorsMap and TakeManySparseFromTensorsMap: sparse tensors
// that wait in a resource under numbers, so that queues can carry them as these. Schemas:
// runtime/ops/sparse/sparse_map_ops.cc.
#include <unordered_map>

#include "absl/container/flat_hash_set.h"
#include "runtime/kernels/cpu/families.h"
#include "runtime/kernels/cpu/sparse/sparse_parts.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/private_resource.h"

namespace tensorfleet::cpu {
namespace {

// Thread-safe.
class SparseMap final : public Resource {
 public:
  std::string DebugString() const override { return "A SparseTensorsMap"; }

  int64_t Add(SparseParts parts) {
    MutexLock lock(&mu_);
    waiting_.emplace(next_, std::move(parts));
    return next_++;
  }

  // Takes all of them out, or none. Errors: InvalidArgument for a number that is not there, or
  // there twice.
  StatusOr<std::vector<SparseParts>> Take(absl::Span<const int64_t> numbers,
                                          const std::string& name) {
    MutexLock lock(&mu_);
    absl::flat_hash_set<int64_t> asked;
    for (const int64_t number : numbers) {
      if (waiting_.count(number) == 0 || !asked.insert(number).second) {
        return InvalidArgument("Unable to find SparseTensor: ", number, " in map: ", name);
      }
    }
    std::vector<SparseParts> taken;
    for (const int64_t number : numbers) {
      const auto found = waiting_.find(number);
      taken.push_back(std::move(found->second));
      waiting_.erase(found);
    }
    return taken;
  }

 private:
  Mutex mu_;
  std::unordered_map<int64_t, SparseParts> waiting_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

// Where a node's map is: a node that adds shares it under its own name when it has no other, since
// the client gives that name to the node that takes.
class MapName {
 public:
  MapName(KernelInit& init, bool falls_back) : resources_(init.resources()) {
    init.Get("container", &container_);
    init.Get("shared_name", &name_);
    init.Fail(CheckResourceNames(container_, name_));
    if (container_.empty()) container_ = resources_->default_container();
    if (!name_.empty()) return;
    name_ = init.node().name();
    if (!falls_back) init.Fail(InvalidArgument("shared_name must name the map to take from"));
  }
  const std::string& name() const { return name_; }
  StatusOr<ResourceRef<SparseMap>> Open(const KernelContext& ctx) const {
    return ctx.step().resources->FindOrMake<SparseMap>(
        container_, name_, [&]() -> StatusOr<ResourceRef<SparseMap>> {
          return ResourceRef<SparseMap>::Adopt(new SparseMap());
        });
  }

 private:
  ResourceManager* const resources_;
  std::string container_, name_;
};

class AddSparse final : public Kernel {
 public:
  explicit AddSparse(KernelInit& init) : map_(init, true) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(ReadSparse(ctx, 0).status());
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<SparseMap> map, map_.Open(ctx));
    const int64_t number = map->Add({ctx.input(0), ctx.input(1), ctx.input(2)});
    ctx.SetOutput(0, Tensor::Scalar<int64_t>(number));
    return OkStatus();
  }

 private:
  const MapName map_;
};

class AddManySparse final : public Kernel {
 public:
  explicit AddManySparse(KernelInit& init) : map_(init, true) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, 0));
    if (sparse.rank() < 2) {
      return InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ",
                             sparse.rank());
    }
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<SparseMap> map, map_.Open(ctx));
    TFLEET_ASSIGN_OR_RETURN(Tensor numbers, ctx.Allocate(DType::kInt64, {sparse.shape.dim(0)}));
    // Rows without entries get their numbers after the others, as TensorFlow has it.
    std::vector<std::pair<int64_t, SparseParts>> empty;
    const absl::Span<int64_t> number = numbers.mutable_values<int64_t>();
    TFLEET_RETURN_IF_ERROR(VisitRows(sparse, [&](int64_t row, const SparseParts& parts) -> Status {
      if (parts[1].num_elements() == 0) {
        empty.emplace_back(row, parts);
      } else {
        number[row] = map->Add(parts);
      }
      return OkStatus();
    }));
    for (auto& [row, parts] : empty) number[row] = map->Add(std::move(parts));
    ctx.SetOutput(0, std::move(numbers));
    return OkStatus();
  }

 private:
  const MapName map_;
};

class TakeManySparse final : public Kernel {
 public:
  explicit TakeManySparse(KernelInit& init) : map_(init, false) { init.Get("dtype", &type_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& numbers = ctx.input(0);
    if (numbers.rank() != 1) {
      return InvalidArgument("sparse_handles should be a vector but received shape ",
                             numbers.shape().ToString());
    }
    if (numbers.dim(0) == 0) {
      return InvalidArgument("Must have at least 1 serialized SparseTensor, but input has shape ",
                             numbers.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<SparseMap> map, map_.Open(ctx));
    TFLEET_ASSIGN_OR_RETURN(const std::vector<SparseParts> all,
                            map->Take(numbers.values<int64_t>(), map_.name()));
    for (size_t i = 0; i < all.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(
          CheckParts(all[i], static_cast<int64_t>(i), type_, all[0][2].num_elements()));
    }
    return SetStacked(ctx, type_, {numbers.dim(0)}, all);
  }

 private:
  const MapName map_;
  DType type_ = DType::kInvalid;
};

}  // namespace

void RegisterSparseMapKernels(KernelRegistry& r) {
  r.Add<AddSparse>("AddSparseToTensorsMap", kCpu);
  r.Add<AddManySparse>("AddManySparseToTensorsMap", kCpu);
  r.Add<TakeManySparse>("TakeManySparseFromTensorsMap", kCpu);
}

}  // namespace tensorfleet::cpu
