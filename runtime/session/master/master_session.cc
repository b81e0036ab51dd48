#include "runtime/session/master/master_session.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/session/master/partial_step.h"
#include "runtime/session/master/step_run.h"
#include "runtime/session/metrics.h"

namespace tensorfleet {
namespace {

template <typename Names, typename NameOf>
void AppendNames(const Names& names, char separator, const NameOf& name_of, std::string* key) {
  for (const auto& item : names) {
    key->append(name_of(item));
    key->push_back(separator);
  }
  key->push_back('\n');
}

std::string KeyOf(const Signature& s, FeedStyle style) {
  std::string key = style == FeedStyle::kRendezvous ? "partial\n" : "";
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

}  // namespace

MasterSession::MasterSession(Options options)
    : options_(std::move(options)), graph_(options_.graph), prepared_(options_.cached_graphs) {
  ++ServerMetrics().sessions;
}

MasterSession::~MasterSession() {
  --ServerMetrics().sessions;
  ServerMetrics().callables -= static_cast<int64_t>(callables_.size());
}

StatusOr<int64_t> MasterSession::Extend(const tensorflow::GraphDef& def, int64_t expected_version) {
  MutexLock lock(&extend_mu_);
  if (version_ != expected_version) {
    return Aborted("Current version is ", version_, " but caller expected ", expected_version, ".");
  }
  TFLEET_RETURN_IF_ERROR(graph_.Extend(def));
  return ++version_;
}

Status MasterSession::EnterStep() {
  const int64_t most = options_.worker->limits().steps;
  std::atomic<int64_t>& steps = ServerMetrics().steps_running;
  if (steps.fetch_add(1, std::memory_order_relaxed) >= most && most > 0) {
    steps.fetch_sub(1, std::memory_order_relaxed);
    return OverLimit("the steps that run at once", most, "max_steps");
  }
  MutexLock lock(&mu_);
  if (closed_) {
    steps.fetch_sub(1, std::memory_order_relaxed);
    return ClosedError();
  }
  ++running_;
  requests_.Enter();
  return OkStatus();
}

void MasterSession::LeaveStep() {
  ServerMetrics().steps_running.fetch_sub(1, std::memory_order_relaxed);
  requests_.Leave();
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
  if (std::shared_ptr<const Variant> known = prepared_.Find(key)) return known;
  auto variant = std::make_shared<Variant>();
  Signature signature;
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
  std::string graph_key;
  variant->graph = Prepare(signature, FeedStyle::kCallFrame, &graph_key);
  prepared_.AddVariant(graph_key, std::move(key), variant);
  return variant;
}

std::shared_ptr<PreparedGraph> MasterSession::Prepare(const Signature& signature, FeedStyle style,
                                                      std::string* key) {
  *key = KeyOf(signature, style);
  bool is_new = false;
  std::shared_ptr<PreparedGraph> graph = prepared_.FindOrMake(*key, signature, &is_new);
  if (is_new) {
    graph->WhenReady([self = shared_from_this(), key = *key, raw = graph.get()] {
      self->prepared_.Weigh(key, *raw);
    });
    Compile(graph, style, {});
  }
  return graph;
}

PrepareWaitArgs MasterSession::WaitArgs(std::shared_ptr<PreparedGraph> graph,
                                        const CallOptions& call, const StepDeadline& deadline) {
  return {std::move(graph), call.cancellation,       closing_,
          options_.timers,  options_.worker->pool(), deadline};
}

void MasterSession::RunStep(const CallOptions& call, RunStepArgs* args, RunStepResult* result,
                            Done done) {
  if (!args->partial_run_handle.empty()) {
    RunPartial(call, args, result, std::move(done));
    return;
  }
  const auto deadline =
      StepDeadline::In(std::chrono::milliseconds(args->options.timeout_in_ms()), call.timeout);
  const std::shared_ptr<const Variant> variant = FindVariant(*args);
  auto run = [self = shared_from_this(), variant, call, args, result, deadline,
              done = std::move(done)](Status prepared) mutable {
    if (!prepared.ok()) {
      done(std::move(prepared));
      return;
    }
    // The run holds `finish` and finish refers to the run, which lives until it is called.
    auto holder = std::make_shared<StepRun*>(nullptr);
    auto finish = [variant, args, result, holder, done = std::move(done)](Status status) {
      if (status.ok()) {
        StepRun& over = **holder;
        std::vector<bool> is_given(over.fetches.size(), false);
        for (size_t i = 0; i < args->fetches.size(); ++i) {
          const int slot = variant->fetch_slots[i];
          if (is_given[slot]) continue;
          is_given[slot] = true;
          result->fetches.push_back({args->fetches[i], over.fetches[slot]});
        }
        result->metadata.Swap(&over.metadata);
        over.fetches.clear();
      }
      done(std::move(status));
    };
    auto step_run = std::make_shared<StepRun>(std::move(self), variant->graph, std::move(finish));
    *holder = step_run.get();
    step_run->feeds.resize(args->feeds.size());
    for (size_t i = 0; i < args->feeds.size(); ++i) {
      step_run->feeds[variant->feed_slots[i]] = std::move(args->feeds[i].tensor);
    }
    step_run->Start(call, args->options, deadline);
  };
  if (variant->graph->is_ready()) {
    run(variant->graph->status());
  } else {
    WaitUntilPrepared(WaitArgs(variant->graph, call, deadline), std::move(run));
  }
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
  closing_->StartCancel(Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  if (is_idle) DeleteWorkerSessions(std::move(done));
}

void MasterSession::DeleteWorkerSessions(Done done) {
  DropPartialSteps();
  prepared_.Clear();
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
