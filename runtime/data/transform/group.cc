// GroupByWindowDataset and GroupByReducerDataset: elements by keys that a function gives them.
#include <deque>
#include <map>

#include "runtime/data/composed.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/element_ring.h"
#include "runtime/data/families.h"
#include "runtime/data/nested.h"
#include "runtime/data/predicate.h"
#include "runtime/data/unary_iterator.h"

namespace tensorfleet::data {
namespace {

// Windows of elements of one key, each made a data set of by a function.
class GroupByWindow final : public Dataset {
 public:
  struct Functions {
    CapturedFunctionRef key, reduce, size;
  };
  GroupByWindow(DatasetRef input, Functions functions, ElementType type)
      : Dataset(std::move(type), {std::move(input)}), functions_(std::move(functions)) {}
  const Functions& functions() const { return functions_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const Functions functions_;
};

class GroupByWindowIterator final : public UnaryIterator<GroupByWindow> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(key_, scope_.Bind(dataset_->functions().key));
    TFLEET_ASSIGN_OR_RETURN(reduce_, scope_.Bind(dataset_->functions().reduce));
    TFLEET_ASSIGN_OR_RETURN(size_, scope_.Bind(dataset_->functions().size));
    return OpenInput();
  }
  bool MayWait() const override { return true; }

  StatusOr<bool> Next(Element* out) override {
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      if (current_ != nullptr) {
        TFLEET_ASSIGN_OR_RETURN(const bool more, current_->Next(out));
        if (more) return true;
        current_.reset();
        group_.clear();
      }
      if (input_ != nullptr) {
        TFLEET_RETURN_IF_ERROR(Gather());
        continue;
      }
      // What is left of each key, in the order of the keys.
      if (groups_.empty()) return false;
      const auto first = groups_.begin();
      const int64_t key = first->first;
      std::vector<Element> group = std::move(first->second);
      groups_.erase(first);
      TFLEET_RETURN_IF_ERROR(StartGroup(key, std::move(group)));
    }
  }

  Status Save(StateWriter& to) override {
    SaveGroups(to);
    to.PutInt("is_open", current_ != nullptr);
    if (current_ != nullptr) {
      to.PutInt("current_key", current_key_);
      to.PutElements("group", group_);
      const StateWriter::Child child(to, "current");
      TFLEET_RETURN_IF_ERROR(current_->Save(to));
    }
    return UnaryIterator::Save(to);
  }
  Status Restore(StateReader& from) override {
    TFLEET_RETURN_IF_ERROR(RestoreGroups(from));
    TFLEET_ASSIGN_OR_RETURN(const int64_t is_open, from.GetInt("is_open"));
    current_.reset();
    if (is_open != 0) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t key, from.GetInt("current_key"));
      TFLEET_ASSIGN_OR_RETURN(std::vector<Element> group,
                              from.GetElements("group", dataset_->input()->type().types));
      TFLEET_RETURN_IF_ERROR(StartGroup(key, std::move(group)));
      const StateReader::Child child(from, "current");
      TFLEET_RETURN_IF_ERROR(current_->Restore(from));
    }
    return UnaryIterator::Restore(from);
  }

 private:
  // Takes elements until the window of one key is full or the input ends.
  Status Gather() {
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      Element element;
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
      if (!more) return OkStatus();
      TFLEET_ASSIGN_OR_RETURN(const int64_t key, CallForInt(key_, element, "key_func"));
      if (sizes_.find(key) == sizes_.end()) {
        TFLEET_ASSIGN_OR_RETURN(
            const int64_t size,
            CallForInt(size_, {Tensor::Scalar<int64_t>(key)}, "window_size_func"));
        if (size <= 0)
          return InvalidArgument("Window size must be greater than zero, but got ", size, ".");
        sizes_[key] = size;
      }
      TFLEET_RETURN_IF_ERROR(CountElement());
      std::vector<Element>& group = groups_[key];
      group.push_back(std::move(element));
      if (static_cast<int64_t>(group.size()) < sizes_[key]) continue;
      std::vector<Element> full = std::move(group);
      groups_.erase(key);
      return StartGroup(key, std::move(full));
    }
  }
  // Elements are kept without end: memory is looked after now and then.
  Status CountElement() {
    if (++gathered_ % 4096 != 0) return OkStatus();
    return CheckWorkSpace(4096, 256);
  }

  Status StartGroup(int64_t key, std::vector<Element> group) {
    current_key_ = key;
    group_ = group;
    DatasetRef elements = MakeElements(dataset_->input()->type(), std::move(group));
    Element args;
    args.push_back(Tensor::Scalar<int64_t>(key));
    args.push_back(DatasetTensor(std::move(elements)));
    TFLEET_ASSIGN_OR_RETURN(const DatasetRef dataset,
                            CallForDataset(reduce_, std::move(args), dataset_->type()));
    TFLEET_ASSIGN_OR_RETURN(current_, dataset->NewIterator(scope_, depth_ + kDepthOfCall));
    return OkStatus();
  }

  void SaveGroups(StateWriter& to) {
    to.PutInt("keys_count", static_cast<int64_t>(sizes_.size()));
    int64_t i = 0;
    for (const auto& [key, size] : sizes_) {
      to.PutInt(absl::StrCat("key", i), key);
      to.PutInt(absl::StrCat("size", i), size);
      const auto group = groups_.find(key);
      to.PutElements(absl::StrCat("group", i),
                     group == groups_.end() ? std::vector<Element>() : group->second);
      ++i;
    }
  }
  Status RestoreGroups(StateReader& from) {
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, from.GetCount("keys_count"));
    sizes_.clear();
    groups_.clear();
    for (int64_t i = 0; i < count; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t key, from.GetInt(absl::StrCat("key", i)));
      TFLEET_ASSIGN_OR_RETURN(sizes_[key], from.GetInt(absl::StrCat("size", i)));
      TFLEET_ASSIGN_OR_RETURN(
          std::vector<Element> group,
          from.GetElements(absl::StrCat("group", i), dataset_->input()->type().types));
      if (!group.empty()) groups_[key] = std::move(group);
    }
    return OkStatus();
  }

  BoundFunction key_, reduce_, size_;
  std::map<int64_t, std::vector<Element>> groups_;
  std::map<int64_t, int64_t> sizes_;
  int64_t gathered_ = 0;
  IteratorPtr current_;
  int64_t current_key_ = 0;
  std::vector<Element> group_;  // what `current_` was made of
};

// One element for each key: the elements of the key folded into a state.
class GroupByReducer final : public Dataset {
 public:
  struct Functions {
    CapturedFunctionRef key, init, reduce, finalize;
  };
  GroupByReducer(DatasetRef input, Functions functions, ElementType type)
      : Dataset(std::move(type), {std::move(input)}), functions_(std::move(functions)) {}
  const Functions& functions() const { return functions_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const Functions functions_;
};

class GroupByReducerIterator final : public UnaryIterator<GroupByReducer> {
 public:
  using UnaryIterator::UnaryIterator;
  Status Open() override {
    TFLEET_ASSIGN_OR_RETURN(key_, scope_.Bind(dataset_->functions().key));
    TFLEET_ASSIGN_OR_RETURN(init_, scope_.Bind(dataset_->functions().init));
    TFLEET_ASSIGN_OR_RETURN(reduce_, scope_.Bind(dataset_->functions().reduce));
    TFLEET_ASSIGN_OR_RETURN(finalize_, scope_.Bind(dataset_->functions().finalize));
    return OpenInput();
  }
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    while (input_ != nullptr) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      Element element;
      TFLEET_ASSIGN_OR_RETURN(const bool more, NextInput(&element));
      if (!more) break;
      TFLEET_ASSIGN_OR_RETURN(const int64_t key, CallForInt(key_, element, "key_func"));
      auto state = states_.find(key);
      if (state == states_.end()) {
        Element initial;
        TFLEET_RETURN_IF_ERROR(init_.Call({Tensor::Scalar<int64_t>(key)}, &initial));
        TFLEET_RETURN_IF_ERROR(CheckWorkSpace(1, 256));
        state = states_.emplace(key, std::move(initial)).first;
      }
      Element args = state->second;
      for (Tensor& component : element) args.push_back(std::move(component));
      Element next;
      TFLEET_RETURN_IF_ERROR(reduce_.Call(std::move(args), &next));
      state->second = std::move(next);
    }
    // Keys in their order.
    if (states_.empty()) return false;
    Element state = std::move(states_.begin()->second);
    states_.erase(states_.begin());
    TFLEET_RETURN_IF_ERROR(finalize_.Call(std::move(state), out, &dataset_->type().types));
    return true;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("keys_count", static_cast<int64_t>(states_.size()));
    int64_t i = 0;
    for (const auto& [key, state] : states_) {
      to.PutInt(absl::StrCat("key", i), key);
      to.PutInt(absl::StrCat("state", i, "_count"), static_cast<int64_t>(state.size()));
      to.PutElement(absl::StrCat("state", i++), state);
    }
    return UnaryIterator::Save(to);
  }
  // The functions say what a state is, so its types are those that are found.
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, from.GetCount("keys_count"));
    states_.clear();
    for (int64_t i = 0; i < count; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const int64_t key, from.GetInt(absl::StrCat("key", i)));
      TFLEET_ASSIGN_OR_RETURN(const int64_t size,
                              from.GetCount(absl::StrCat("state", i, "_count")));
      Element& state = states_[key];
      for (int64_t k = 0; k < size; ++k) {
        TFLEET_ASSIGN_OR_RETURN(state.emplace_back(), from.Get(absl::StrCat("state", i, "_", k)));
      }
    }
    return UnaryIterator::Restore(from);
  }

 private:
  BoundFunction key_, init_, reduce_, finalize_;
  std::map<int64_t, Element> states_;
};

StatusOr<IteratorPtr> GroupByWindow::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<GroupByWindowIterator>(this, scope, depth);
}
StatusOr<IteratorPtr> GroupByReducer::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<GroupByReducerIterator>(this, scope, depth);
}

class GroupByWindowKernel final : public DatasetKernel {
 public:
  explicit GroupByWindowKernel(KernelInit& init)
      : DatasetKernel(init),
        key_(init, "key_func", "key_func_other_arguments"),
        reduce_(init, "reduce_func", "reduce_func_other_arguments"),
        size_(init, "window_size_func", "window_size_func_other_arguments") {}

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    GroupByWindow::Functions functions{key_.Capture(ctx), reduce_.Capture(ctx), size_.Capture(ctx)};
    return std::make_shared<GroupByWindow>(std::move(input), std::move(functions), declared());
  }
  const FunctionAttr key_, reduce_, size_;
};

class GroupByReducerKernel final : public DatasetKernel {
 public:
  explicit GroupByReducerKernel(KernelInit& init)
      : DatasetKernel(init),
        key_(init, "key_func", "key_func_other_arguments"),
        init_(init, "init_func", "init_func_other_arguments"),
        reduce_(init, "reduce_func", "reduce_func_other_arguments"),
        finalize_(init, "finalize_func", "finalize_func_other_arguments") {}

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    GroupByReducer::Functions functions{key_.Capture(ctx), init_.Capture(ctx), reduce_.Capture(ctx),
                                        finalize_.Capture(ctx)};
    return std::make_shared<GroupByReducer>(std::move(input), std::move(functions), declared());
  }
  const FunctionAttr key_, init_, reduce_, finalize_;
};

}  // namespace

void RegisterGroupKernels(KernelRegistry& kernels) {
  kernels.Add<GroupByWindowKernel>("GroupByWindowDataset", kCpu);
  kernels.Add<GroupByWindowKernel>("ExperimentalGroupByWindowDataset", kCpu);
  kernels.Add<GroupByReducerKernel>("GroupByReducerDataset", kCpu);
  kernels.Add<GroupByReducerKernel>("ExperimentalGroupByReducerDataset", kCpu);
}

}  // namespace tensorfleet::data
