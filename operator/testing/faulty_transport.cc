#include "operator/testing/faulty_transport.h"

namespace tensorfleet::testing {

StatusOr<k8s::Response> FaultyTransport::Send(const k8s::Request& request) {
  const When when = decide_(request, count_++);
  if (when == When::kBefore) return Unavailable("injected: the request is lost");
  StatusOr<k8s::Response> response = real_->Send(request);
  if (when == When::kAfter) return Unavailable("injected: the answer is lost");
  return response;
}

StatusOr<k8s::Response> FaultyTransport::Stream(const k8s::Request& request, OnData on_data) {
  if (decide_(request, count_++) != When::kPass)
    return Unavailable("injected: the request is lost");
  return real_->Stream(request, on_data);
}

}  // namespace tensorfleet::testing
