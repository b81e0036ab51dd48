// The operator's metrics: training-operator's names where it has them, and ours. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "operator/controller/controller.h"
#include "operator/controller/observer.h"

namespace prometheus {
class Counter;
class Registry;
}  // namespace prometheus

namespace tensorfleet::operator_main {

class Metrics final : public controller::Observer {
 public:
  // `host` is the API server's, as rest_client_requests_total shows it.
  Metrics(std::string host, int threads, const std::string& lease_name);
  ~Metrics() override;

  void OnTaken(std::chrono::nanoseconds waited) override;
  void OnReconciled(Result result, std::chrono::nanoseconds took) override;
  void OnCounters(absl::string_view ns, const plan::Counters& counters) override;
  void OnAction(plan::ActionKind kind, bool ok, std::chrono::nanoseconds took) override;
  void OnStatusWrite(bool ok) override;
  void OnRequest(absl::string_view method, int code);
  // Around each admission: it begins, and then ends with its answer.
  void OnAdmissionBegins();
  void OnAdmission(int http_code, bool allowed, std::chrono::nanoseconds took);
  void SetLeader(bool is_leader);

  // What is read only when somebody asks: queue, caches, watches, events, certificates. Pointers
  // may be null and must outlive their use; call with nulls before they go.
  struct Sources {
    controller::Controller* controller = nullptr;
    const k8s::EventRecorder* events = nullptr;
    std::function<std::pair<int64_t, int64_t>()> certificate_reads;  // all, failed
  };
  void SetSources(Sources sources);

  // The text of /metrics.
  std::string Text();

 private:
  struct Families;
  prometheus::Counter* CounterOf(plan::ActionKind kind, bool ok);
  void Collect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string host_;
  std::unique_ptr<prometheus::Registry> registry_;
  std::unique_ptr<Families> families_;
  Mutex mu_;
  Sources sources_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::operator_main
