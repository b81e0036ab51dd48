#include "runtime/data/iterator_scope.h"

#include <algorithm>
#include <atomic>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/thread_pool.h"
#include "runtime/data/scope_work.h"

namespace tensorfleet::data {

struct IteratorScope::Shared {
  ThreadPool* pool = nullptr;
  MemoryAccount::Handle memory;
  std::atomic<bool> deterministic{true};
  mutable Mutex mu;
  // By source. Functions run until their calls return, so they go with the last scope.
  absl::flat_hash_map<std::shared_ptr<const FunctionSource>, std::unique_ptr<FunctionRunner>>
      runners ABSL_GUARDED_BY(mu);
};

IteratorScope::IteratorScope(ThreadPool* pool, CancellationManager* parent, std::string what)
    : shared_(std::make_shared<Shared>()), cancellation_(parent) {
  shared_->pool = pool;
  shared_->memory = MemoryAccount::Open(std::move(what), 0, MemoryAccount::Current());
}
IteratorScope::IteratorScope(IteratorScope& whole)
    : shared_(whole.shared_), cancellation_(&whole.cancellation_) {}
IteratorScope::~IteratorScope() = default;

StatusOr<BoundFunction> IteratorScope::Bind(const CapturedFunctionRef& function) {
  BoundFunction bound;
  {
    MutexLock lock(&shared_->mu);
    std::unique_ptr<FunctionRunner>& runner = shared_->runners[function->source];
    if (runner == nullptr) runner = function->source->NewRunner();
    bound.runner_ = runner.get();
  }
  TFLEET_ASSIGN_OR_RETURN(bound.handle_, bound.runner_->Instantiate(function->function));
  bound.function_ = function;
  bound.scope_ = this;
  return bound;
}

bool IteratorScope::Owns(const FunctionRunner* runner) const {
  MutexLock lock(&shared_->mu);
  return std::any_of(shared_->runners.begin(), shared_->runners.end(),
                     [&](const auto& entry) { return entry.second.get() == runner; });
}

bool IteratorScope::deterministic() const { return shared_->deterministic; }
void IteratorScope::set_deterministic(bool value) { shared_->deterministic = value; }
ThreadPool& IteratorScope::pool() const { return *shared_->pool; }
MemoryAccount* IteratorScope::memory() const { return shared_->memory.get(); }
int64_t IteratorScope::processors() const { return std::max(1, shared_->pool->num_threads()); }

Status IteratorScope::StartWork(Background* background, std::function<void()> work) {
  return background->Start([this, work = std::move(work)] {
    const Work mine(*this);
    work();
  });
}

IteratorScope::Work::Work(IteratorScope& scope)
    : memory_(scope.memory()), interest_(&scope.cancellation()) {}

Status BoundFunction::Call(Element args, Element* results, const std::vector<DType>* types) const {
  args.insert(args.end(), function_->captured.begin(), function_->captured.end());
  TFLEET_RETURN_IF_ERROR(
      runner_->RunAlone(handle_, &scope_->cancellation(), std::move(args), results));
  return types == nullptr ? OkStatus() : CheckTypes(*results, *types);
}

WakeOnCancel::WakeOnCancel(IteratorScope& scope, Mutex* mu, CondVar* changed)
    : scope_(scope), token_(scope.cancellation().Register([mu, changed] {
        MutexLock lock(mu);
        changed->NotifyAll();
      })) {}
WakeOnCancel::~WakeOnCancel() {
  if (token_ >= 0) scope_.cancellation().Deregister(token_);
}

}  // namespace tensorfleet::data
