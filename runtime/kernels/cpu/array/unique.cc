// Kernels that compare elements with each other: Unique, UniqueWithCounts, ListDiff.
// Schemas and shape rules: runtime/ops/array/gather_ops.cc.
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "runtime/kernels/cpu/array/gather.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet::cpu {
namespace {

// What elements are compared by: their bits, where -0 is 0, or their text. Nothing for a NaN, which
// equals nothing, not even itself.
template <typename E>
class Keys {
 public:
  explicit Keys(const Tensor& t) : elements_(ElementsOf<E>(t)) {
    switch (t.dtype()) {
      case DType::kHalf:
        infinity_ = 0x7c00;
        break;
      case DType::kBFloat16:
        infinity_ = 0x7f80;
        break;
      case DType::kFloat:
        infinity_ = 0x7f800000;
        break;
      case DType::kDouble:
        infinity_ = 0x7ff0000000000000;
        break;
      default:
        break;
    }
  }
  std::optional<E> operator[](int64_t i) const {
    const E bits = elements_[i];
    if (infinity_ == 0) return bits;
    const E magnitude = static_cast<E>(bits << 1) >> 1;
    if (magnitude > static_cast<E>(infinity_)) return std::nullopt;
    return magnitude == 0 ? E(0) : bits;
  }

 private:
  const E* const elements_;
  uint64_t infinity_ = 0;  // the bits of infinity, for types that have it
};

template <>
class Keys<std::string> {
 public:
  explicit Keys(const Tensor& t) : elements_(t.values<std::string>().data()) {}
  std::optional<absl::string_view> operator[](int64_t i) const { return elements_[i]; }

 private:
  const std::string* const elements_;
};

// Calls visit(ElementTag<E>()) for the types that have keys; false for the others.
template <typename Visit>
bool VisitKeyed(DType dtype, const Visit& visit) {
  if (IsComplex(dtype)) return false;
  bool known = false;
  VisitElement(dtype, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<E, std::string> || std::is_integral_v<E>) {
      visit(tag);
      known = true;
    }
  });
  return known;
}

template <typename E>
using KeyOf = typename std::decay_t<decltype(std::declval<Keys<E>>()[0])>::value_type;

// For each element the number of its class, in the order in which classes first appear; and for
// each class the position of its first element.
struct Classes {
  std::vector<int64_t> of;
  std::vector<int64_t> first;
};

// Numbers keys in the order in which they first appear.
template <typename Key>
class Numbering {
 public:
  explicit Numbering(int64_t expected) { numbers_.reserve(std::min<int64_t>(expected, 1 << 16)); }
  // Asks for the memory that Find of the key will use.
  void Prefetch(const Key&) const {}
  // The key's number, which is `next` if it has none yet.
  int64_t Find(const Key& key, int64_t next) { return numbers_.emplace(key, next).first->second; }

 private:
  absl::flat_hash_map<Key, int64_t> numbers_;
};

// Of integers, which are cheap to compare: in slots from where their hash points to.
template <typename Key>
requires std::is_integral_v<Key>
class Numbering<Key> {
 public:
  explicit Numbering(int64_t expected) {
    size_t slots = 16;
    while (slots < 2 * static_cast<size_t>(std::min<int64_t>(expected, 1 << 16))) slots *= 2;
    slots_.resize(slots);
  }
  void Prefetch(Key key) const { __builtin_prefetch(&slots_[FirstOf(key)]); }
  int64_t Find(Key key, int64_t next) {
    Slot& slot = SlotOf(key);
    if (slot.number != kFree) return slot.number;
    slot = {key, next};
    if (++used_ * 2 > slots_.size()) Grow();
    return next;
  }

 private:
  static constexpr int64_t kFree = -1;
  struct Slot {
    Key key{};
    int64_t number = kFree;
  };
  size_t FirstOf(Key key) const { return absl::Hash<Key>()(key) & (slots_.size() - 1); }
  // Where the key is, or may be put.
  Slot& SlotOf(Key key) {
    const size_t mask = slots_.size() - 1;
    size_t at = FirstOf(key);
    while (slots_[at].number != kFree && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void Grow() {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number != kFree) SlotOf(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

template <typename E>
void Classify(const KernelContext& ctx, const Tensor& x, Classes* classes) {
  const Keys<E> keys(x);
  const int64_t n = x.num_elements();
  Numbering<KeyOf<E>> numbers(n);
  classes->of.resize(n);
  LoopWatch watch(ctx, /*cost=*/20);
  for (int64_t i = 0; i < n; ++i) {
    watch.Pass();
    constexpr int64_t kAhead = 8;
    if (i + kAhead < n) {
      if (const auto later = keys[i + kAhead]) numbers.Prefetch(*later);
    }
    const int64_t next = static_cast<int64_t>(classes->first.size());
    const auto key = keys[i];
    int64_t number = next;
    if (key) number = numbers.Find(*key, next);
    if (number == next) classes->first.push_back(i);
    classes->of[i] = number;
  }
}

// From the classes of elements those of the slices along `axis`, which are equal when all of their
// elements are.
Classes OfSlices(const KernelContext& ctx, const Classes& elements, const Shape& shape, int axis) {
  const int64_t slices = shape.dim(axis);
  const int64_t outer = shape.SubShape(0, axis).num_elements();
  const int64_t inner = shape.SubShape(axis + 1, shape.rank()).num_elements();
  Classes classes;
  absl::flat_hash_map<std::vector<int64_t>, int64_t> numbers;
  classes.of.reserve(slices);
  LoopWatch watch(ctx, /*cost=*/20 + 4 * outer * inner);
  for (int64_t slice = 0; slice < slices; ++slice) {
    watch.Pass();
    std::vector<int64_t> key;
    for (int64_t i = 0; i < outer * inner; ++i) {
      key.push_back(elements.of[(i / inner * slices + slice) * inner + i % inner]);
    }
    const int64_t next = static_cast<int64_t>(classes.first.size());
    const int64_t number = numbers.emplace(std::move(key), next).first->second;
    if (number == next) classes.first.push_back(slice);
    classes.of.push_back(number);
  }
  return classes;
}

// Unique and UniqueWithCounts, of elements or, in their second versions, of slices along an axis.
class Unique final : public Kernel {
 public:
  explicit Unique(KernelInit& init) : has_axis_(init.node().num_inputs() == 2) {
    init.Get("out_idx", &index_type_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    int axis = 0;
    if (has_axis_ && ctx.input(1).rank() != 1) {
      return InvalidArgument("axis expects a 1D vector.");
    }
    if (has_axis_ && ctx.input(1).num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(axis, AxisOf(ctx));
    } else if (x.rank() != 1) {
      return InvalidArgument("unique expects a 1D vector.");
    }
    Classes classes;
    const bool known = VisitKeyed(
        x.dtype(), [&](auto tag) { Classify<typename decltype(tag)::Type>(ctx, x, &classes); });
    if (!known) {
      return Unimplemented(ctx.node().op(), " is not available for type ", DTypeName(x.dtype()));
    }
    TFLEET_RETURN_IF_ERROR(CheckWorkSpace(x.dim(axis), sizeof(int64_t)));
    if (x.rank() != 1) classes = OfSlices(ctx, classes, x.shape(), axis);
    TFLEET_ASSIGN_OR_RETURN(const Tensor picked, IntegerVector(DType::kInt64, classes.first));
    TFLEET_ASSIGN_OR_RETURN(Tensor y, GatherAlong(ctx, x, picked, axis, 0));
    TFLEET_ASSIGN_OR_RETURN(Tensor index, IntegerVector(index_type_, classes.of));
    if (ctx.num_outputs() == 3) {
      std::vector<int64_t> counts(classes.first.size(), 0);
      for (const int64_t number : classes.of) ++counts[number];
      TFLEET_ASSIGN_OR_RETURN(Tensor count, IntegerVector(index_type_, counts));
      ctx.SetOutput(2, std::move(count));
    }
    ctx.SetOutput(0, std::move(y));
    ctx.SetOutput(1, std::move(index));
    return OkStatus();
  }

 private:
  static StatusOr<int> AxisOf(const KernelContext& ctx) {
    const Tensor& axis = ctx.input(1);
    if (axis.num_elements() != 1) {
      return InvalidArgument("axis does not support input tensors larger than 1 elements");
    }
    const int64_t wanted = IntegerAt(axis, 0);
    const int rank = ctx.input(0).rank();
    const int64_t found = NormalizedAxis(wanted, rank);
    if (found < 0) {
      return InvalidArgument("axis has to be between [0, ", rank, "), but is ", wanted);
    }
    return static_cast<int>(found);
  }

  const bool has_axis_;
  DType index_type_ = DType::kInt32;
};

// The positions of those elements of `x` that are not in `y`.
template <typename E>
void Difference(const KernelContext& ctx, const Tensor& x, const Tensor& y,
                std::vector<int64_t>* kept) {
  const Keys<E> x_keys(x), y_keys(y);
  absl::flat_hash_map<KeyOf<E>, bool> in_y;
  LoopWatch watch(ctx, /*cost=*/20);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    watch.Pass();
    if (const auto key = y_keys[i]) in_y.emplace(*key, true);
  }
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    watch.Pass();
    const auto key = x_keys[i];
    if (!key || !in_y.contains(*key)) kept->push_back(i);
  }
}

class ListDiff final : public Kernel {
 public:
  explicit ListDiff(KernelInit& init) { init.Get("out_idx", &index_type_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (x.rank() != 1) return InvalidArgument("x should be a 1D vector.");
    if (y.rank() != 1) return InvalidArgument("y should be a 1D vector.");
    std::vector<int64_t> kept;
    const bool known = VisitKeyed(
        x.dtype(), [&](auto tag) { Difference<typename decltype(tag)::Type>(ctx, x, y, &kept); });
    if (!known) return Unimplemented("ListDiff is not available for type ", DTypeName(x.dtype()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, PickEntries(x, kept));
    TFLEET_ASSIGN_OR_RETURN(Tensor index, IntegerVector(index_type_, kept));
    ctx.SetOutput(0, std::move(out));
    ctx.SetOutput(1, std::move(index));
    return OkStatus();
  }

 private:
  DType index_type_ = DType::kInt32;
};

}  // namespace

void RegisterUniqueKernels(KernelRegistry& kernels) {
  for (const char* op : {"Unique", "UniqueWithCounts", "UniqueV2", "UniqueWithCountsV2"}) {
    kernels.Add<Unique>(op, kCpu);
  }
  kernels.Add<ListDiff>("ListDiff", kCpu);
}

}  // namespace tensorfleet::cpu
