// ParallelInterleaveDataset, all versions: the elements of the data sets that a function makes, of
// several in turn, which threads read ahead. In order they come as InterleaveDataset gives them.
#include <algorithm>
#include <deque>
#include <optional>

#include "absl/strings/match.h"
#include "runtime/base/contain.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/nested.h"
#include "runtime/data/parallel/ordered_calls.h"

namespace tensorfleet::data {
namespace {

struct InterleaveOptions {
  int64_t cycle_length = 1;
  int64_t block_length = 1;
  int64_t parallelism = kAutotune;
  int64_t buffered = kAutotune;  // elements of each data set
  int64_t ahead = kAutotune;     // data sets that are opened before their turn
  Order order = Order::kByOptions;
};

class ParallelInterleave final : public Dataset {
 public:
  ParallelInterleave(DatasetRef input, CapturedFunctionRef function, ElementType type,
                     InterleaveOptions options)
      : Dataset(std::move(type), {std::move(input)}),
        function_(std::move(function)),
        options_(options) {}
  const CapturedFunctionRef& function() const { return function_; }
  const InterleaveOptions& options() const { return options_; }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const CapturedFunctionRef function_;
  const InterleaveOptions options_;
};

// One of the data sets, with what has been read of it.
struct Lane {
  struct Result {
    Status status;
    Element element;
  };
  NestedIterator nested;
  Element args;  // until it is opened
  bool needs_opening = true;
  bool is_busy = false;  // a thread works on it
  bool is_over = false;  // nothing comes behind `buffer`
  std::deque<Result> buffer;
};

class ParallelInterleaveIterator final : public Iterator {
 public:
  ParallelInterleaveIterator(const ParallelInterleave* dataset, IteratorScope& scope, int depth)
      : dataset_(Kept(dataset)),
        options_(dataset->options()),
        scope_(scope),
        depth_(depth),
        wake_(scope_, &mu_, &changed_),
        is_ordered_(IsDeterministic(options_.order, scope)),
        buffered_(options_.buffered > 0 ? options_.buffered
                                        : std::max<int64_t>(kBuffered, 2 * Block())),
        ahead_(options_.ahead >= 0
                   ? options_.ahead
                   : std::min<int64_t>(options_.cycle_length, scope_.processors())) {}
  ~ParallelInterleaveIterator() override {
    scope_.cancellation().StartCancel(Cancelled("the iterator is gone"));
    threads_.clear();
  }

  Status Open() {
    TFLEET_ASSIGN_OR_RETURN(function_, scope_.Bind(dataset_->function()));
    TFLEET_ASSIGN_OR_RETURN(input_, InputIterator(dataset_->input(), scope_, depth_));
    return OkStatus();
  }
  bool MayWait() const override { return true; }

  StatusOr<bool> Next(Element* out) override {
    MutexLock lock(&mu_);
    if (threads_.empty()) TFLEET_RETURN_IF_ERROR(StartThreads());
    while (true) {
      TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
      std::optional<StatusOr<bool>> result = Step(out);
      if (result.has_value()) return *std::move(result);
      changed_.Wait(&mu_);
    }
  }

  Status Save(StateWriter& to) override {
    MutexLock lock(&mu_);
    is_saving_ = true;
    Status status;
    while (status.ok() && (is_taking_ || IsAnyBusy())) {
      changed_.WaitFor(&mu_, StateWriter::kMoment);
      status = to.CheckCancelled();
    }
    if (status.ok()) status = SaveAll(to);
    is_saving_ = false;
    changed_.NotifyAll();
    return status;
  }

  Status Restore(StateReader& from) override {
    MutexLock lock(&mu_);
    TFLEET_ASSIGN_OR_RETURN(const int64_t at, from.GetInt("at"));
    TFLEET_ASSIGN_OR_RETURN(taken_of_block_, from.GetInt("taken_of_block"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t cycle, from.GetCount("cycle_count"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t waiting, from.GetCount("waiting_count"));
    if (at < 0 || at > cycle || cycle > options_.cycle_length) {
      return InvalidArgument("the saved iterator reads the ", at, ". of ", cycle, " data sets");
    }
    at_ = at;
    cycle_.clear();
    waiting_.clear();
    for (int64_t i = 0; i < cycle; ++i) {
      TFLEET_ASSIGN_OR_RETURN(cycle_.emplace_back(), RestoreLane(from, absl::StrCat("cycle", i)));
    }
    for (int64_t i = 0; i < waiting; ++i) {
      TFLEET_ASSIGN_OR_RETURN(waiting_.emplace_back(),
                              RestoreLane(from, absl::StrCat("waiting", i)));
    }
    TFLEET_RETURN_IF_ERROR(RestoreInput(from, "input", dataset_->input(), scope_, depth_, &input_));
    is_input_over_ = input_ == nullptr;
    return OkStatus();
  }

 private:
  static constexpr int64_t kBuffered = 16;
  static constexpr size_t kMostWaiting = 64;  // even of a cycle that has no end

  int64_t Block() const { return std::min<int64_t>(options_.block_length, 1024); }

  // An element, its error or the end; nothing where it has to be waited for.
  std::optional<StatusOr<bool>> Step(Element* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    size_t passed = 0;  // places without an element in this round
    while (true) {
      const bool may_come = !is_input_over_ || is_taking_;
      if (at_ >= cycle_.size() && waiting_.empty()) {
        // In order, the input's next data set belongs here.
        if (may_come && is_ordered_) return std::nullopt;
        if (IsAllOver()) {
          return may_come ? std::nullopt : std::optional<StatusOr<bool>>(StatusOr<bool>(false));
        }
        if (++passed > cycle_.size()) return std::nullopt;
        at_ = 0;
      }
      if (at_ == cycle_.size()) cycle_.emplace_back();
      std::unique_ptr<Lane>& lane = cycle_[at_];
      if (lane == nullptr && !waiting_.empty()) {
        lane = std::move(waiting_.front());
        waiting_.pop_front();
        changed_.NotifyAll();
        passed = 0;
      }
      if (lane == nullptr) {
        if (!may_come && IsAllOver()) return StatusOr<bool>(false);
        if ((may_come && is_ordered_) || ++passed > cycle_.size()) return std::nullopt;
        Advance();
        continue;
      }
      if (!lane->buffer.empty()) {
        Lane::Result result = std::move(lane->buffer.front());
        lane->buffer.pop_front();
        changed_.NotifyAll();
        if (!result.status.ok()) {
          // One that could not be opened leaves its place.
          if (lane->is_over && lane->buffer.empty() && lane->needs_opening) lane = nullptr;
          return StatusOr<bool>(result.status);
        }
        *out = std::move(result.element);
        if (++taken_of_block_ == options_.block_length) Advance();
        return StatusOr<bool>(true);
      }
      if (lane->is_over) {
        lane = nullptr;
        Advance();
        passed = 0;
        continue;
      }
      if (is_ordered_ || ++passed > cycle_.size()) return std::nullopt;
      Advance();
    }
  }

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    taken_of_block_ = 0;
    ++at_;
    const bool no_more = is_input_over_ && !is_taking_ && waiting_.empty();
    if (static_cast<int64_t>(at_) >= options_.cycle_length || (no_more && at_ >= cycle_.size())) {
      at_ = 0;
    }
  }

  bool IsAllOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return waiting_.empty() && std::all_of(cycle_.begin(), cycle_.end(),
                                           [](const auto& lane) { return lane == nullptr; });
  }
  bool IsAnyBusy() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto busy = [](const auto& lane) { return lane != nullptr && lane->is_busy; };
    return std::any_of(cycle_.begin(), cycle_.end(), busy) ||
           std::any_of(waiting_.begin(), waiting_.end(), busy);
  }

  Status StartThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    int64_t most = options_.parallelism == kAutotune ? scope_.processors() : options_.parallelism;
    most = std::min({most, options_.cycle_length + ahead_, kMaxCallThreads});
    most = std::max<int64_t>(1, most);
    while (static_cast<int64_t>(threads_.size()) < most) {
      auto thread = std::make_unique<Background>();
      const Status started = scope_.StartWork(thread.get(), [this] { Work(); });
      if (!started.ok()) return threads_.empty() ? started : OkStatus();
      threads_.push_back(std::move(thread));
    }
    return OkStatus();
  }

  // The lane that is needed first, of those that nobody works on.
  Lane* FindWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto wants = [this](const std::unique_ptr<Lane>& lane) {
      return lane != nullptr && !lane->is_busy && !lane->is_over &&
             static_cast<int64_t>(lane->buffer.size()) < buffered_;
    };
    for (size_t i = 0; i < cycle_.size(); ++i) {
      const std::unique_ptr<Lane>& lane = cycle_[(at_ + i) % cycle_.size()];
      if (wants(lane)) return lane.get();
    }
    for (const std::unique_ptr<Lane>& lane : waiting_) {
      if (wants(lane)) return lane.get();
    }
    return nullptr;
  }
  // Whether another data set is to be taken from the input.
  bool WantsLane() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (is_input_over_ || is_taking_ || waiting_.size() >= kMostWaiting) return false;
    int64_t open = static_cast<int64_t>(waiting_.size());
    for (const std::unique_ptr<Lane>& lane : cycle_) open += lane != nullptr;
    return open < options_.cycle_length + ahead_;
  }

  void Work() {
    MutexLock lock(&mu_);
    while (!scope_.cancellation().is_cancelled()) {
      if (is_saving_) {
        changed_.Wait(&mu_);
      } else if (WantsLane()) {
        TakeLane();
      } else if (Lane* const lane = FindWork()) {
        Read(lane);
      } else if (is_input_over_ && IsAllOver()) {
        return;
      } else {
        changed_.Wait(&mu_);
      }
    }
  }

  void TakeLane() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    is_taking_ = true;
    mu_.Unlock();
    auto lane = std::make_unique<Lane>();
    const StatusOr<bool> more = Contained([&] { return input_->Next(&lane->args); });
    mu_.Lock();
    is_taking_ = false;
    changed_.NotifyAll();
    if (more.ok() && !*more) {
      is_input_over_ = true;
      input_.reset();
      return;
    }
    if (!more.ok()) {
      lane->buffer.push_back({more.status(), {}});
      lane->is_over = true;
    }
    waiting_.push_back(std::move(lane));
  }

  void Read(Lane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    lane->is_busy = true;
    mu_.Unlock();
    Lane::Result result;
    bool is_opened = true;
    const StatusOr<bool> more = Contained([&]() -> StatusOr<bool> {
      if (lane->needs_opening) {
        is_opened = false;
        TFLEET_ASSIGN_OR_RETURN(
            lane->nested, NestedIterator::Open(function_, std::move(lane->args), dataset_->type(),
                                               scope_, depth_));
        is_opened = true;
      }
      return lane->nested.iterator().Next(&result.element);
    });
    mu_.Lock();
    lane->is_busy = false;
    if (is_opened) lane->needs_opening = false;
    if (more.ok() && !*more) {
      lane->is_over = true;
      lane->nested.Close();
    } else {
      result.status = more.status();
      if (!is_opened) lane->is_over = true;
      lane->buffer.push_back(std::move(result));
    }
    changed_.NotifyAll();
  }

  Status SaveAll(StateWriter& to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    to.PutInt("at", static_cast<int64_t>(at_));
    to.PutInt("taken_of_block", taken_of_block_);
    to.PutInt("cycle_count", static_cast<int64_t>(cycle_.size()));
    to.PutInt("waiting_count", static_cast<int64_t>(waiting_.size()));
    for (size_t i = 0; i < cycle_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(SaveLane(to, absl::StrCat("cycle", i), cycle_[i].get()));
    }
    for (size_t i = 0; i < waiting_.size(); ++i) {
      TFLEET_RETURN_IF_ERROR(SaveLane(to, absl::StrCat("waiting", i), waiting_[i].get()));
    }
    return SaveInput(to, "input", input_.get());
  }

  Status SaveLane(StateWriter& to, absl::string_view name, Lane* lane) {
    const StateWriter::Child child(to, name);
    to.PutInt("exists", lane != nullptr);
    if (lane == nullptr) return OkStatus();
    const bool is_unopened = lane->needs_opening && !lane->is_over;
    to.PutInt("is_unopened", is_unopened);
    if (is_unopened) to.PutElement("args", lane->args);
    to.PutInt("is_over", lane->is_over);
    to.PutInt("buffer_count", static_cast<int64_t>(lane->buffer.size()));
    for (size_t i = 0; i < lane->buffer.size(); ++i) {
      to.PutStatus(absl::StrCat("buffer", i), lane->buffer[i].status);
      if (lane->buffer[i].status.ok()) {
        to.PutElement(absl::StrCat("buffer", i), lane->buffer[i].element);
      }
    }
    return lane->nested.Save(to, "nested");
  }

  StatusOr<std::unique_ptr<Lane>> RestoreLane(StateReader& from, absl::string_view name) {
    const StateReader::Child child(from, name);
    TFLEET_ASSIGN_OR_RETURN(const int64_t exists, from.GetInt("exists"));
    if (exists == 0) return std::unique_ptr<Lane>();
    const std::vector<DType>& arg_types = dataset_->input()->type().types;
    auto lane = std::make_unique<Lane>();
    TFLEET_ASSIGN_OR_RETURN(lane->needs_opening, from.GetInt("is_unopened"));
    if (lane->needs_opening) {
      TFLEET_ASSIGN_OR_RETURN(lane->args, from.GetElement("args", arg_types));
    }
    TFLEET_ASSIGN_OR_RETURN(lane->is_over, from.GetInt("is_over"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t count, from.GetCount("buffer_count"));
    for (int64_t i = 0; i < count; ++i) {
      Lane::Result result;
      TFLEET_RETURN_IF_ERROR(from.GetStatus(absl::StrCat("buffer", i), &result.status));
      if (result.status.ok()) {
        TFLEET_ASSIGN_OR_RETURN(result.element,
                                from.GetElement(absl::StrCat("buffer", i), dataset_->type().types));
      }
      lane->buffer.push_back(std::move(result));
    }
    TFLEET_ASSIGN_OR_RETURN(lane->nested,
                            NestedIterator::Restore(from, "nested", function_, arg_types,
                                                    dataset_->type(), scope_, depth_));
    if (!lane->needs_opening && !lane->is_over && !lane->nested.is_open()) {
      return InvalidArgument("the saved iterator has lost a data set");
    }
    return lane;
  }

  const std::shared_ptr<const ParallelInterleave> dataset_;
  const InterleaveOptions options_;
  IteratorScope scope_;
  const int depth_;
  BoundFunction function_;
  IteratorPtr input_;  // used by whoever is taking
  Mutex mu_;
  CondVar changed_;
  const WakeOnCancel wake_;
  const bool is_ordered_;
  const int64_t buffered_;
  const int64_t ahead_;
  bool is_taking_ ABSL_GUARDED_BY(mu_) = false;
  bool is_saving_ ABSL_GUARDED_BY(mu_) = false;
  bool is_input_over_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::unique_ptr<Lane>> cycle_ ABSL_GUARDED_BY(mu_);   // as many as have been needed
  std::deque<std::unique_ptr<Lane>> waiting_ ABSL_GUARDED_BY(mu_);  // for a place in the cycle
  size_t at_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t taken_of_block_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<Background>> threads_;  // joined before anything else goes
};

StatusOr<IteratorPtr> ParallelInterleave::MakeIterator(IteratorScope& scope, int depth) const {
  auto iterator = std::make_unique<ParallelInterleaveIterator>(this, scope, depth);
  TFLEET_RETURN_IF_ERROR(iterator->Open());
  return IteratorPtr(std::move(iterator));
}

// input_dataset, other_arguments..., then what `numbers` of the op's version lists.
class ParallelInterleaveKernel final : public DatasetKernel {
 public:
  explicit ParallelInterleaveKernel(KernelInit& init)
      : DatasetKernel(init), function_(init, "f", "other_arguments") {
    const std::string& op = init.node().op();
    const StatusOr<ArgRange> first = InputRange(init.node().schema(), init.def(), "cycle_length");
    init.Fail(first.status());
    if (!first.ok()) return;
    first_ = first->begin;
    has_sloppy_input_ =
        op == "ParallelInterleaveDataset" || op == "ExperimentalParallelInterleaveDataset";
    has_buffers_ = has_sloppy_input_ || absl::EndsWith(op, "V4") || absl::StartsWith(op, "Legacy");
    has_parallelism_ = !has_sloppy_input_ && !absl::StartsWith(op, "Legacy");
    if (FindAttr(init.def(), "deterministic") != nullptr) {
      order_ = OrderAttr(init);
    } else if (FindAttr(init.def(), "sloppy") != nullptr) {
      bool sloppy = false;
      init.Get("sloppy", &sloppy);
      order_ = sloppy ? Order::kSloppy : Order::kDeterministic;
    }
  }

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(DatasetRef input, DatasetInput(ctx, 0));
    InterleaveOptions options;
    options.order = order_;
    int next = first_;
    TFLEET_ASSIGN_OR_RETURN(options.cycle_length,
                            ScalarInput<int64_t>(ctx, next++, "cycle_length"));
    TFLEET_ASSIGN_OR_RETURN(options.block_length,
                            ScalarInput<int64_t>(ctx, next++, "block_length"));
    if (has_sloppy_input_) {
      TFLEET_ASSIGN_OR_RETURN(const bool sloppy, ScalarInput<bool>(ctx, next++, "sloppy"));
      options.order = sloppy ? Order::kSloppy : Order::kDeterministic;
    }
    if (has_buffers_) {
      TFLEET_ASSIGN_OR_RETURN(options.buffered,
                              ScalarInput<int64_t>(ctx, next++, "buffer_output_elements"));
      TFLEET_ASSIGN_OR_RETURN(options.ahead,
                              ScalarInput<int64_t>(ctx, next++, "prefetch_input_elements"));
    }
    if (has_parallelism_) {
      TFLEET_ASSIGN_OR_RETURN(options.parallelism,
                              ScalarInput<int64_t>(ctx, next++, "num_parallel_calls"));
    } else {
      options.parallelism = kMaxCallThreads;  // a thread for each data set, as far as there are
    }
    if (options.cycle_length == kAutotune && has_parallelism_) {
      options.cycle_length = std::max(1, ctx.pool().num_threads());
    }
    if (options.cycle_length <= 0) return InvalidArgument("`cycle_length` must be > 0");
    if (options.block_length <= 0) return InvalidArgument("`block_length` must be > 0");
    if (options.buffered != kAutotune && options.buffered <= 0) {
      return InvalidArgument("`buffer_output_elements` must be > 0");
    }
    if (options.ahead != kAutotune && options.ahead < 0) {
      return InvalidArgument("`prefetch_input_elements` must be >= 0");
    }
    if (options.parallelism <= 0 && options.parallelism != kAutotune) {
      return InvalidArgument("num_parallel_calls must be greater than zero.");
    }
    // What nobody could fill is not reckoned with.
    options.cycle_length = std::min(options.cycle_length, kMost);
    options.ahead = std::min(options.ahead, kMost);
    return std::make_shared<ParallelInterleave>(std::move(input), function_.Capture(ctx),
                                                declared(), options);
  }

  static constexpr int64_t kMost = int64_t{1} << 40;

  const FunctionAttr function_;
  int first_ = 0;
  bool has_sloppy_input_ = false, has_buffers_ = false, has_parallelism_ = false;
  Order order_ = Order::kByOptions;
};

}  // namespace

void RegisterParallelInterleaveKernels(KernelRegistry& kernels) {
  for (const char* op : {"ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset",
                         "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3",
                         "ParallelInterleaveDatasetV4", "LegacyParallelInterleaveDatasetV2"}) {
    kernels.Add<ParallelInterleaveKernel>(op, kCpu);
  }
}

}  // namespace tensorfleet::data
