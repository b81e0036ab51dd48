// Staging areas by key: the tensors of a key's tuple come from one or more steps, and are taken out
// once all are there. MapStage, MapUnstage and their kin, and the same with Ordered before their
// names, which takes the lowest key where none is asked for. Schemas:
// runtime/ops/portable/staging_ops.cc.
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/staging/staging_limits.h"
#include "runtime/kernels/portable/staging/waiting_ops.h"
#include "runtime/kernels/private_resource.h"

namespace tensorfleet::portable {
namespace {

using Tuple = std::vector<Tensor>;  // an invalid tensor where one is missing
using Places = std::vector<int32_t>;

class StagingMap final : public Resource {
 public:
  StagingMap(size_t width, StagingLimits limits) : width_(width), limits_(limits) {}
  std::string DebugString() const override { return "Staging map"; }

  WaitingOps& ops() { return ops_; }

  // The rest is called by attempts, or with the lock held.

  // Puts `tensors` at `places` of a key's tuple.
  std::optional<Status> Put(int64_t key, const Places& places, Tuple* tensors) {
    if (Status s = CheckPlaces(places, tensors->size()); !s.ok()) return s;
    const auto found = incomplete_.find(key);
    for (size_t i = 0; found != incomplete_.end() && i < places.size(); ++i) {
      if (found->second[places[i]].is_valid()) {
        return InvalidArgument("The tensor for index '", places[i], "' for key '", key,
                               "' was already initialized '", width_, "'.");
      }
    }
    const int64_t bytes = BytesOf(*tensors);
    if (!limits_.MayEverHold(bytes)) return limits_.TooLarge(bytes);
    // What adds to a key that is there needs no place of its own.
    const int64_t tuples =
        found == incomplete_.end() ? static_cast<int64_t>(complete_.size()) : int64_t{0};
    if (!limits_.HasRoom(tuples, bytes_, bytes)) return std::nullopt;
    bytes_ += bytes;
    Tuple& tuple = incomplete_[key];
    tuple.resize(width_);
    for (size_t i = 0; i < places.size(); ++i) tuple[places[i]] = std::move((*tensors)[i]);
    for (const Tensor& tensor : tuple) {
      if (!tensor.is_valid()) return OkStatus();
    }
    complete_.emplace(key, std::move(tuple));
    incomplete_.erase(key);
    return OkStatus();
  }

  // Gives the tensors at `places` of a key's tuple, and with `removes` takes them out.
  std::optional<Status> Get(int64_t key, const Places& places, bool removes, Tuple* tensors) {
    if (Status s = CheckPlaces(places, places.size()); !s.ok()) return s;
    const auto it = complete_.find(key);
    if (it == complete_.end()) return std::nullopt;
    for (const int32_t place : places) {
      if (it->second[place].is_valid()) continue;
      return InvalidArgument("Tensor at index '", place, "' for key '", key,
                             "' has already been removed.");
    }
    for (const int32_t place : places) tensors->push_back(it->second[place]);
    if (!removes) return OkStatus();
    bytes_ -= BytesOf(*tensors);
    for (const int32_t place : places) it->second[place].Clear();
    for (const Tensor& tensor : it->second) {
      if (tensor.is_valid()) return OkStatus();
    }
    complete_.erase(it);
    return OkStatus();
  }

  // The same of the lowest key.
  std::optional<Status> TakeAny(const Places& places, int64_t* key, Tuple* tensors) {
    if (complete_.empty()) return std::nullopt;
    *key = complete_.begin()->first;
    return Get(*key, places, true, tensors);
  }

  int64_t size() const { return static_cast<int64_t>(complete_.size()); }
  int64_t incomplete_size() const { return static_cast<int64_t>(incomplete_.size()); }
  void Clear() {
    complete_.clear();
    incomplete_.clear();
    bytes_ = 0;
  }

 private:
  Status CheckPlaces(const Places& places, size_t tensors) const {
    if (places.size() != tensors) {
      return InvalidArgument("there are ", places.size(), " indices for ", tensors, " tensors");
    }
    std::vector<bool> is_used(width_);
    for (const int32_t place : places) {
      if (place < 0 || static_cast<size_t>(place) >= width_) {
        return InvalidArgument("Index '", place, "' is out of bounds [0, ", width_, ")");
      }
      if (is_used[place]) return InvalidArgument("Index '", place, "' is given twice");
      is_used[place] = true;
    }
    return OkStatus();
  }

  const size_t width_;
  const StagingLimits limits_;
  WaitingOps ops_;
  // These are guarded by ops_.mu().
  std::map<int64_t, Tuple> complete_, incomplete_;
  int64_t bytes_ = 0;
};

class StagingMapKernel final : public AsyncKernel {
 public:
  explicit StagingMapKernel(KernelInit& init)
      : owned_(init), limits_(init), action_(ActionOf(init.node().op())) {
    init.Get("dtypes", &types_);
    if (action_ == Action::kStage) init.Get("fake_dtypes", &staged_);
  }

  void ComputeAsync(KernelContext& ctx, Done done) const override {
    StatusOr<ResourceRef<StagingMap>> found =
        owned_.FindOrMake(ctx, [&]() -> StatusOr<ResourceRef<StagingMap>> {
          return ResourceRef<StagingMap>::Adopt(new StagingMap(types_.size(), limits_));
        });
    if (!found.ok()) return done(found.status());
    const ResourceRef<StagingMap> map = *found;
    switch (action_) {
      case Action::kStage:
        return Stage(ctx, map, std::move(done));
      case Action::kUnstage:
      case Action::kPeek:
        return Unstage(ctx, map, std::move(done));
      case Action::kUnstageNoKey:
        return UnstageAny(ctx, map, std::move(done));
      case Action::kClear:
        return map->ops().Do(
            ctx,
            [map]() -> std::optional<Status> {
              map->Clear();
              return OkStatus();
            },
            std::move(done));
      case Action::kSize:
      case Action::kIncompleteSize: {
        int64_t size = 0;
        {
          MutexLock lock(&map->ops().mu());
          size = action_ == Action::kSize ? map->size() : map->incomplete_size();
        }
        ctx.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(size)));
        return done(OkStatus());
      }
    }
  }

 private:
  enum class Action { kStage, kUnstage, kUnstageNoKey, kPeek, kSize, kIncompleteSize, kClear };

  static Action ActionOf(absl::string_view op) {
    op = absl::StripPrefix(absl::StripPrefix(op, "Ordered"), "Map");
    return op == "Stage"            ? Action::kStage
           : op == "Unstage"        ? Action::kUnstage
           : op == "UnstageNoKey"   ? Action::kUnstageNoKey
           : op == "Peek"           ? Action::kPeek
           : op == "Size"           ? Action::kSize
           : op == "IncompleteSize" ? Action::kIncompleteSize
                                    : Action::kClear;
  }

  static StatusOr<Places> PlacesIn(const Tensor& indices) {
    if (indices.rank() != 1) {
      return InvalidArgument("indices must be a vector, not of shape ", indices.shape().ToString());
    }
    const auto values = indices.values<int32_t>();
    return Places(values.begin(), values.end());
  }

  // The types of the tensors at `places` of the map's tuples must be `types`.
  Status CheckTypes(const Places& places, absl::Span<const DType> types) const {
    if (places.size() != types.size()) {
      return InvalidArgument("there are ", places.size(), " indices for ", types.size(),
                             " tensors");
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const bool is_inside = places[i] >= 0 && static_cast<size_t>(places[i]) < types_.size();
      if (is_inside && types_[places[i]] != types[i]) {
        return InvalidArgument("DataType of index ", places[i], " is ",
                               DTypeName(types_[places[i]]), ", not ", DTypeName(types[i]));
      }
    }
    return OkStatus();
  }

  void Stage(KernelContext& ctx, const ResourceRef<StagingMap>& map, Done done) const {
    if (!ctx.input(0).shape().is_scalar()) {
      return done(InvalidArgument("Check that an appropriately shaped key was supplied: ",
                                  ctx.input(0).shape().ToString()));
    }
    StatusOr<Places> places = PlacesIn(ctx.input(1));
    if (places.ok()) {
      if (Status s = CheckTypes(*places, staged_); !s.ok()) places = s;
    }
    if (!places.ok()) return done(places.status());
    const int64_t key = ctx.input(0).scalar<int64_t>();
    auto tensors = std::make_shared<Tuple>();
    for (int i = 2; i < ctx.num_inputs(); ++i) tensors->push_back(ctx.TakeInput(i));
    map->ops().Do(
        ctx,
        [map, key, places = *std::move(places), tensors] {
          return map->Put(key, places, tensors.get());
        },
        std::move(done));
  }

  void Unstage(KernelContext& ctx, const ResourceRef<StagingMap>& map, Done done) const {
    if (!ctx.input(0).shape().is_scalar()) {
      return done(InvalidArgument("Check that an appropriately shaped key was supplied: ",
                                  ctx.input(0).shape().ToString()));
    }
    StatusOr<Places> places = PlacesIn(ctx.input(1));
    if (!places.ok()) return done(places.status());
    const int64_t key = ctx.input(0).scalar<int64_t>();
    const bool removes = action_ == Action::kUnstage;
    auto tensors = std::make_shared<Tuple>();
    map->ops().Do(
        ctx,
        [map, key, places = *std::move(places), removes, tensors] {
          return map->Get(key, places, removes, tensors.get());
        },
        [&ctx, map, tensors, done = std::move(done)](Status status) {
          if (status.ok()) status = SetOutputs(ctx, std::move(*tensors), 0);
          done(std::move(status));
        });
  }

  void UnstageAny(KernelContext& ctx, const ResourceRef<StagingMap>& map, Done done) const {
    StatusOr<Places> places = PlacesIn(ctx.input(0));
    if (!places.ok()) return done(places.status());
    auto tensors = std::make_shared<Tuple>();
    auto key = std::make_shared<int64_t>(0);
    map->ops().Do(
        ctx,
        [map, places = *std::move(places), key, tensors] {
          return map->TakeAny(places, key.get(), tensors.get());
        },
        [&ctx, map, key, tensors, done = std::move(done)](Status status) {
          if (status.ok()) status = SetOutputs(ctx, std::move(*tensors), 1);
          if (status.ok()) ctx.SetOutput(0, Tensor::Scalar<int64_t>(*key));
          done(std::move(status));
        });
  }

  static Status SetOutputs(KernelContext& ctx, Tuple tensors, size_t first) {
    TFLEET_RETURN_IF_ERROR(
        CheckTuple(absl::MakeConstSpan(ctx.node().output_types()).subspan(first), tensors));
    for (size_t i = 0; i < tensors.size(); ++i) {
      ctx.SetOutput(static_cast<int>(first + i), std::move(tensors[i]));
    }
    return OkStatus();
  }

  const OwnedResource<StagingMap> owned_;
  const StagingLimits limits_;
  const Action action_;
  std::vector<DType> types_, staged_;
};

}  // namespace

void RegisterMapStageKernels(KernelRegistry& kernels) {
  for (const char* order : {"", "Ordered"}) {
    for (const char* action :
         {"Stage", "Unstage", "UnstageNoKey", "Peek", "Size", "IncompleteSize", "Clear"}) {
      kernels.Add<StagingMapKernel>(absl::StrCat(order, "Map", action), kCpu);
    }
  }
}

}  // namespace tensorfleet::portable
