// A Transport in front of another that fails as told: the errors of a network, one request at a
// time, without a server having to misbehave. Thread-safe.
#pragma once

#include <functional>

#include "operator/k8s/connect/transport.h"

namespace tensorfleet::testing {

class FaultyTransport final : public k8s::Transport {
 public:
  enum class When {
    kPass,
    kBefore,  // the request never arrives
    kAfter,   // the request is carried out, its answer is lost
  };
  // Asked for each request, from any thread; `number` counts from 0.
  using Decide = std::function<When(const k8s::Request&, int64_t number)>;

  // `real` must outlive this.
  FaultyTransport(k8s::Transport* real, Decide decide) : real_(real), decide_(std::move(decide)) {}

  StatusOr<k8s::Response> Send(const k8s::Request& request) override;
  // Faults strike before the stream only.
  StatusOr<k8s::Response> Stream(const k8s::Request& request, OnData on_data) override;

  int64_t count() const { return count_; }

 private:
  k8s::Transport* const real_;
  const Decide decide_;
  std::atomic<int64_t> count_{0};
};

}  // namespace tensorfleet::testing
