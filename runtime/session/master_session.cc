#include "runtime/session/master_session.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/session/metrics.h"
#include "runtime/session/partial_step.h"
#include "runtime/session/step_run.h"

namespace tensorfleet {
namespace {

// Requests are matched by their names in the order in which they came; this bounds what a client
// can make us keep.
constexpr size_t kMaxVariants = 4096;

template <typename Names, typename NameOf>
void AppendNames(const Names& names, char separator, const NameOf& name_of, std::string* key) {
  for (const auto& item : names) {
    key->append(name_of(item));
    key->push_back(separator);
  }
  key->push_back('\n');
}

std::string KeyOf(const StepSignature& s) {
  std::string key;
  const auto same = [](const std::string& name) -> const std::string& { return name; };
  AppendNames(s.feeds, ',', same, &key);
  AppendNames(s.fetches, ',', same, &key);
  AppendNames(s.targets, ',', same, &key);
  return key;
}

// Positions of `names` in sorted order.
std::vector<int> SortedOrder(const std::vector<std::string>& names) {
  std::vector<int> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return names[a] < names[b]; });
  return order;
}

// A step that could not be prepared for want of a worker is prepared anew when it is asked for
// again.
bool LackedAPeer(const CompiledStep& step) {
  return step.is_ready() && absl::IsUnavailable(step.status());
}

}  // namespace

MasterSession::MasterSession(Options options)
    : options_(std::move(options)), graph_(options_.graph) {
  ++ServerMetrics().sessions;
}

MasterSession::~MasterSession() { --ServerMetrics().sessions; }

StatusOr<int64_t> MasterSession::Extend(const tensorflow::GraphDef& def, int64_t expected_version) {
  MutexLock lock(&extend_mu_);
  if (version_ != expected_version) {
    return Aborted("Current version is ", version_, " but caller expected ", expected_version, ".");
  }
  TFLEET_RETURN_IF_ERROR(graph_.Extend(def));
  return ++version_;
}

bool MasterSession::EnterStep() {
  MutexLock lock(&mu_);
  if (closed_) return false;
  ++running_;
  return true;
}

void MasterSession::LeaveStep() {
  std::function<void()> when_idle;
  {
    MutexLock lock(&mu_);
    if (--running_ == 0) when_idle.swap(when_idle_);
  }
  if (when_idle) when_idle();
}

Status MasterSession::ClosedError() const {
  return Aborted("Session ", handle(), " is not found.");
}

std::shared_ptr<const MasterSession::Variant> MasterSession::FindVariant(const RunStepArgs& args) {
  std::string key;
  const auto same = [](const std::string& name) -> const std::string& { return name; };
  AppendNames(
      args.feeds, ',', [](const NamedTensor& t) -> const std::string& { return t.name; }, &key);
  AppendNames(args.fetches, ',', same, &key);
  AppendNames(args.targets, ',', same, &key);
  {
    MutexLock lock(&mu_);
    const auto it = variants_.find(key);
    if (it != variants_.end()) {
      if (!LackedAPeer(*it->second->step)) return it->second;
      variants_.erase(it);
    }
  }
  auto variant = std::make_shared<Variant>();
  StepSignature signature;
  std::vector<std::string> feeds;
  for (const NamedTensor& feed : args.feeds) feeds.push_back(feed.name);
  variant->feed_slots.resize(feeds.size());
  for (const int i : SortedOrder(feeds)) {
    variant->feed_slots[i] = static_cast<int>(signature.feeds.size());
    signature.feeds.push_back(feeds[i]);
  }
  variant->fetch_slots.resize(args.fetches.size());
  for (const int i : SortedOrder(args.fetches)) {
    if (signature.fetches.empty() || signature.fetches.back() != args.fetches[i]) {
      signature.fetches.push_back(args.fetches[i]);
    }
    variant->fetch_slots[i] = static_cast<int>(signature.fetches.size()) - 1;
  }
  for (const int i : SortedOrder(args.targets)) signature.targets.push_back(args.targets[i]);
  variant->step = Prepare(signature);
  MutexLock lock(&mu_);
  if (variants_.size() >= kMaxVariants) variants_.clear();
  return variants_.emplace(std::move(key), std::move(variant)).first->second;
}

std::shared_ptr<CompiledStep> MasterSession::Prepare(const StepSignature& signature) {
  std::shared_ptr<CompiledStep> step;
  {
    MutexLock lock(&mu_);
    std::shared_ptr<CompiledStep>& known = steps_[KeyOf(signature)];
    if (known != nullptr && !LackedAPeer(*known)) return known;
    step = known = std::make_shared<CompiledStep>(signature);
  }
  Compile(step, FeedStyle::kCallFrame, {});
  return step;
}

void MasterSession::RunStep(const CallOptions& call, RunStepArgs* args, RunStepResult* result,
                            Done done) {
  if (!args->partial_run_handle.empty()) {
    RunPartial(call, args, result, std::move(done));
    return;
  }
  const std::shared_ptr<const Variant> variant = FindVariant(*args);
  auto run = [self = shared_from_this(), variant, call, args, result,
              done = std::move(done)]() mutable {
    const CompiledStep& step = *variant->step;
    if (!step.status().ok()) {
      done(step.status());
      return;
    }
    // The run holds `finish` and finish refers to the run, which lives until it is called.
    auto holder = std::make_shared<StepRun*>(nullptr);
    auto finish = [variant, args, result, holder, done = std::move(done)](Status status) {
      StepRun& over = **holder;
      if (status.ok()) {
        std::vector<bool> is_given(over.fetches.size(), false);
        for (size_t i = 0; i < args->fetches.size(); ++i) {
          const int slot = variant->fetch_slots[i];
          if (is_given[slot]) continue;
          is_given[slot] = true;
          result->fetches.push_back({args->fetches[i], over.fetches[slot]});
        }
      }
      result->metadata.Swap(&over.metadata);
      over.fetches.clear();
      done(std::move(status));
    };
    auto step_run = std::make_shared<StepRun>(std::move(self), variant->step, std::move(finish));
    *holder = step_run.get();
    step_run->feeds.resize(args->feeds.size());
    for (size_t i = 0; i < args->feeds.size(); ++i) {
      step_run->feeds[variant->feed_slots[i]] = std::move(args->feeds[i].tensor);
    }
    step_run->Start(call, args->options);
  };
  if (variant->step->is_ready()) {
    run();
  } else {
    variant->step->WhenReady(std::move(run));
  }
}

StatusOr<int64_t> MasterSession::MakeCallable(const tensorflow::CallableOptions& options) {
  for (const auto& devices : {options.feed_devices(), options.fetch_devices()}) {
    for (const auto& [tensor, device] : devices) {
      const StatusOr<DeviceName> name = DeviceName::Parse(device);
      if (!name.ok()) return name.status();
      if (name->type.value_or("CPU") != "CPU") {
        return Unimplemented("callables give and take tensors in host memory; ", tensor,
                             " was asked for on ", device);
      }
    }
  }
  StepSignature signature;
  signature.feeds.assign(options.feed().begin(), options.feed().end());
  signature.fetches.assign(options.fetch().begin(), options.fetch().end());
  signature.targets.assign(options.target().begin(), options.target().end());
  std::vector<std::pair<std::string, std::string>> connections;
  for (const auto& connection : options.tensor_connection()) {
    connections.emplace_back(connection.from_tensor(), connection.to_tensor());
  }
  auto callable = std::make_shared<Callable>();
  callable->options = options.run_options();
  callable->step = std::make_shared<CompiledStep>(std::move(signature));
  Compile(callable->step, FeedStyle::kCallFrame, std::move(connections));
  MutexLock lock(&mu_);
  const int64_t handle = next_callable_++;
  callables_[handle] = std::move(callable);
  return handle;
}

void MasterSession::RunCallable(const CallOptions& call, RunCallableArgs* args,
                                RunStepResult* result, Done done) {
  std::shared_ptr<const Callable> callable;
  bool was_released = false;
  {
    MutexLock lock(&mu_);
    const auto it = callables_.find(args->handle);
    if (it != callables_.end()) callable = it->second;
    was_released = args->handle >= 0 && args->handle < next_callable_;
  }
  if (callable == nullptr) {
    done(InvalidArgument(was_released ? "Attempted to run callable after handle was released: "
                                      : "No such callable handle: ",
                         args->handle));
    return;
  }
  callable->step->WhenReady(
      [self = shared_from_this(), callable, call, args, result, done = std::move(done)]() mutable {
        if (!callable->step->status().ok()) {
          done(callable->step->status());
          return;
        }
        auto holder = std::make_shared<StepRun*>(nullptr);
        auto finish = [result, holder, done = std::move(done)](Status status) {
          for (Tensor& fetch : (*holder)->fetches)
            result->fetches.push_back({"", std::move(fetch)});
          result->metadata.Swap(&(*holder)->metadata);
          done(std::move(status));
        };
        auto run = std::make_shared<StepRun>(std::move(self), callable->step, std::move(finish));
        *holder = run.get();
        run->feeds = std::move(args->feeds);
        run->Start(call, callable->options);
      });
}

void MasterSession::ReleaseCallable(int64_t handle) {
  MutexLock lock(&mu_);
  callables_.erase(handle);
}

void MasterSession::Close(Done done) {
  bool is_idle = false;
  {
    MutexLock lock(&mu_);
    closed_ = true;
    is_idle = running_ == 0;
    if (!is_idle) {
      when_idle_ = [self = shared_from_this(), done] { self->DeleteWorkerSessions(done); };
    }
  }
  closing_.StartCancel(Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  if (is_idle) DeleteWorkerSessions(std::move(done));
}

void MasterSession::DeleteWorkerSessions(Done done) {
  DropPartialSteps();
  auto pending = std::make_shared<std::atomic<size_t>>(options_.tasks.size() + 1);
  const auto one_less = [self = shared_from_this(), pending, done = std::move(done)](Status) {
    // Errors do not count: a worker that is gone has no session either.
    if (pending->fetch_sub(1) == 1) done(OkStatus());
  };
  CallOptions call;
  // The client waits, perhaps to open the next session after a peer has died.
  call.timeout = std::chrono::seconds(1);
  for (const SessionTask& task : options_.tasks) {
    task.worker->DeleteWorkerSession(call, handle(), one_less);
  }
  one_less(OkStatus());
}

}  // namespace tensorfleet
