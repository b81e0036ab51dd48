// Functions as steps of their own, and runners that outlive their graph: what data sets stand on.
#include <atomic>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/device/base_device.h"
#include "runtime/execute/function_runtime.h"
#include "runtime/execute/local_rendezvous.h"

namespace tensorfleet {
namespace {

// Numbers that no step of a session has: those are below 2^56.
int64_t NextOwnStepId() {
  static std::atomic<int64_t> next{int64_t{1} << 60};
  return next.fetch_add(1, std::memory_order_relaxed);
}

class RuntimeSource final : public FunctionSource,
                            public std::enable_shared_from_this<RuntimeSource> {
 public:
  // A device that belongs to a session, one with another name, is made anew for each runner.
  explicit RuntimeSource(FunctionRuntime::Options options) : options_(std::move(options)) {
    options_.own_device = nullptr;
    if (options_.device == nullptr) return;
    Device* const base = BaseDevice(options_.device);
    if (base != options_.device) task_ = options_.device->attributes().parsed.TaskString();
    options_.device = base;
  }

  std::unique_ptr<FunctionRunner> NewRunner() const override {
    FunctionRuntime::Options options = options_;
    if (!task_.empty()) {
      options.own_device = MakeRenamedDevice(task_, options.device);
      options.device = options.own_device.get();
    }
    options.source = shared_from_this();
    return std::make_unique<FunctionRuntime>(std::move(options));
  }

  const OpRegistry& ops() const override { return *options_.ops; }
  const std::shared_ptr<const FunctionLibrary>& library() const override {
    return options_.library;
  }
  std::shared_ptr<const FunctionSource> With(
      std::shared_ptr<const FunctionLibrary> library) const override {
    auto other = std::make_shared<RuntimeSource>(*this);
    other->options_.library = std::move(library);
    return other;
  }

 private:
  FunctionRuntime::Options options_;
  std::string task_;
};

}  // namespace

FunctionRuntime::Options FunctionRuntime::Completed(Options options) {
  if (options.source == nullptr) options.source = std::make_shared<RuntimeSource>(options);
  return options;
}

Status FunctionRuntime::RunAlone(Handle handle, CancellationManager* cancellation,
                                 std::vector<Tensor> args, std::vector<Tensor>* results) {
  CancellationManager own_cancellation(cancellation);
  LocalRendezvous rendezvous;
  ResourceManager step_resources(options_.resources->default_container());
  StepContext step;
  step.step_id = NextOwnStepId();
  step.rendezvous = &rendezvous;
  step.cancellation = &own_cancellation;
  step.resources = options_.resources;
  step.step_resources = &step_resources;
  struct Waiter {
    Notification over;
    Status status;
  } waiter;
  Start(handle, step, /*caller_may_work=*/true, std::move(args),
        [&waiter, results](const Status& status, std::vector<Tensor> values) {
          waiter.status = status;
          *results = std::move(values);
          waiter.over.Notify();
        });
  waiter.over.Wait();
  return std::move(waiter.status);
}

}  // namespace tensorfleet
