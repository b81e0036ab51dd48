// Sets: the last dimension of a dense or sparse tensor holds a set for each group that the other
// dimensions make. DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation,
// SetSize. Schemas and shape rules: runtime/ops/sparse/set_ops.cc.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/sparse/sparse_input.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// The sets of a tensor; `elements` are sorted and distinct.
template <typename T>
struct Sets {
  struct Group {
    int64_t number = 0;  // row-major
    std::vector<T> elements;
  };
  Shape groups;
  std::vector<Group> found;  // those with elements, by number
};

template <typename T>
void MakeDistinct(std::vector<T>* elements) {
  std::sort(elements->begin(), elements->end());
  elements->erase(std::unique(elements->begin(), elements->end()), elements->end());
}

template <typename T>
StatusOr<Sets<T>> DenseSets(const Tensor& t) {
  if (t.rank() < 2) {
    return InvalidArgument("Shape ", t.shape().ToString(), " has rank ", t.rank(), " < 2");
  }
  Sets<T> sets;
  sets.groups = t.shape().SubShape(0, t.rank() - 1);
  const int64_t width = t.dim(-1);
  const auto values = t.values<T>();
  for (int64_t g = 0; width > 0 && g < sets.groups.num_elements(); ++g) {
    auto& group = sets.found.emplace_back();
    group.number = g;
    group.elements.assign(values.begin() + g * width, values.begin() + (g + 1) * width);
    MakeDistinct(&group.elements);
  }
  return sets;
}

// Entries must be in order and inside.
Status CheckOrder(const SparseInput& sparse) {
  TFLEET_RETURN_IF_ERROR(CheckInBounds(sparse));
  for (int64_t i = 1; i < sparse.size(); ++i) {
    const auto before = sparse.At(i - 1), at = sparse.At(i);
    if (std::lexicographical_compare(before.begin(), before.end(), at.begin(), at.end())) continue;
    const bool is_same = std::equal(before.begin(), before.end(), at.begin());
    return InvalidArgument("indices[", i, "] is ", is_same ? "repeated" : "out of order",
                           ". Many sparse ops require sorted indices. Use `tf.sparse.reorder` to "
                           "create a correctly ordered copy.");
  }
  return OkStatus();
}

template <typename T>
StatusOr<Sets<T>> SparseSets(const KernelContext& ctx, int first, bool validates) {
  TFLEET_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(ctx, first));
  if (sparse.rank() < 2) return InvalidArgument("Invalid rank ", sparse.rank(), ".");
  TFLEET_RETURN_IF_ERROR(validates ? CheckOrder(sparse) : CheckInBounds(sparse));
  Sets<T> sets;
  sets.groups = sparse.shape.SubShape(0, sparse.rank() - 1);
  std::vector<std::pair<int64_t, int64_t>> entries;  // group and entry
  for (int64_t i = 0; i < sparse.size(); ++i) {
    entries.emplace_back(sparse.Offset(i) / sparse.shape.dim(-1), i);
  }
  std::sort(entries.begin(), entries.end());
  const auto values = sparse.values->values<T>();
  for (const auto& [group, entry] : entries) {
    if (sets.found.empty() || sets.found.back().number != group) {
      sets.found.emplace_back().number = group;
    }
    sets.found.back().elements.push_back(values[entry]);
  }
  for (auto& group : sets.found) MakeDistinct(&group.elements);
  return sets;
}

template <typename T>
class SetOperation final : public Kernel {
 public:
  explicit SetOperation(KernelInit& init)
      : first_is_sparse_(init.node().op() == "SparseToSparseSetOperation"),
        second_is_sparse_(init.node().op() != "DenseToDenseSetOperation") {
    std::string name;
    init.Get("set_operation", &name);
    init.Get("validate_indices", &validates_);
    operation_ = name == "a-b"            ? Operation::kAMinusB
                 : name == "b-a"          ? Operation::kBMinusA
                 : name == "intersection" ? Operation::kIntersection
                                          : Operation::kUnion;
    if (operation_ == Operation::kUnion && name != "union") {
      init.Fail(InvalidArgument("Invalid set_operation ", name, "."));
    }
  }

  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Sets<T> a, first_is_sparse_ ? SparseSets<T>(ctx, 0, validates_)
                                                              : DenseSets<T>(ctx.input(0)));
    const int second = first_is_sparse_ ? 3 : 1;
    TFLEET_ASSIGN_OR_RETURN(const Sets<T> b, second_is_sparse_
                                                 ? SparseSets<T>(ctx, second, validates_)
                                                 : DenseSets<T>(ctx.input(second)));
    if (a.groups != b.groups) {
      return InvalidArgument("Mismatched shapes ", a.groups.ToString(), " vs ",
                             b.groups.ToString());
    }
    Sets<T> result;
    result.groups = a.groups;
    size_t i = 0, j = 0;
    const std::vector<T> none;
    while (i < a.found.size() || j < b.found.size()) {
      const bool has_a =
          i < a.found.size() && (j == b.found.size() || a.found[i].number <= b.found[j].number);
      const bool has_b =
          j < b.found.size() && (i == a.found.size() || b.found[j].number <= a.found[i].number);
      typename Sets<T>::Group group;
      group.number = has_a ? a.found[i].number : b.found[j].number;
      Combine(has_a ? a.found[i].elements : none, has_b ? b.found[j].elements : none,
              &group.elements);
      i += has_a;
      j += has_b;
      if (!group.elements.empty()) result.found.push_back(std::move(group));
    }
    return SetResult(ctx, std::move(result));
  }

 private:
  enum class Operation { kAMinusB, kBMinusA, kIntersection, kUnion };

  void Combine(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>* to) const {
    const auto into = std::back_inserter(*to);
    switch (operation_) {
      case Operation::kAMinusB:
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), into);
        break;
      case Operation::kBMinusA:
        std::set_difference(b.begin(), b.end(), a.begin(), a.end(), into);
        break;
      case Operation::kIntersection:
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), into);
        break;
      case Operation::kUnion:
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), into);
        break;
    }
  }

  static Status SetResult(KernelContext& ctx, Sets<T> sets) {
    int64_t total = 0, widest = 0;
    for (const auto& group : sets.found) {
      total += static_cast<int64_t>(group.elements.size());
      widest = std::max(widest, static_cast<int64_t>(group.elements.size()));
    }
    const int rank = sets.groups.rank() + 1;
    TFLEET_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, {total, rank}));
    TFLEET_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(kDTypeOf<T>, {total}));
    std::vector<int64_t> dims(sets.groups.dims().begin(), sets.groups.dims().end());
    dims.push_back(widest);
    TFLEET_ASSIGN_OR_RETURN(Tensor shape, IntegerVector(DType::kInt64, dims));
    int64_t* index = indices.mutable_values<int64_t>().data();
    T* value = values.template mutable_values<T>().data();
    for (auto& group : sets.found) {
      for (size_t e = 0; e < group.elements.size(); ++e, index += rank) {
        int64_t rest = group.number;
        for (int d = rank - 2; d >= 0; --d) {
          index[d] = rest % sets.groups.dim(d);
          rest /= sets.groups.dim(d);
        }
        index[rank - 1] = static_cast<int64_t>(e);
        *value++ = std::move(group.elements[e]);
      }
    }
    ctx.SetOutput(0, std::move(indices));
    ctx.SetOutput(1, std::move(values));
    ctx.SetOutput(2, std::move(shape));
    return OkStatus();
  }

  const bool first_is_sparse_, second_is_sparse_;
  bool validates_ = true;
  Operation operation_ = Operation::kUnion;
};

template <typename T>
class SetSize final : public Kernel {
 public:
  explicit SetSize(KernelInit& init) { init.Get("validate_indices", &validates_); }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const Sets<T> sets, SparseSets<T>(ctx, 0, validates_));
    TFLEET_ASSIGN_OR_RETURN(Tensor sizes, Tensor::Zeros(DType::kInt32, sets.groups));
    for (const auto& group : sets.found) {
      sizes.mutable_values<int32_t>()[group.number] = static_cast<int32_t>(group.elements.size());
    }
    ctx.SetOutput(0, std::move(sizes));
    return OkStatus();
  }

 private:
  bool validates_ = true;
};

}  // namespace

void RegisterSetKernels(KernelRegistry& r) {
  using Elements = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;
  for (const char* op :
       {"DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation"}) {
    AddForTypes<SetOperation>(r, op, Elements());
  }
  AddForTypes<SetSize>(r, "SetSize", Elements());
}

}  // namespace tensorfleet::cpu
