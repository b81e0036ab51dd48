// Carrying out one action of a plan, and the answers' way into the caches. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "operator/api/tfjob.h"
#include "operator/controller/informers.h"
#include "operator/k8s/client.h"
#include "operator/plan/actions.h"

namespace tensorfleet::controller {

class Applier {
 public:
  // Both must outlive the applier. `pod_group_api_version` may be empty.
  Applier(k8s::Client* client, Informers* informers, std::string pod_group_api_version)
      : client_(client),
        informers_(informers),
        pod_group_api_version_(std::move(pod_group_api_version)) {}

  // OK also when it had been done before: the name is there and `job`'s own, or what was to go is
  // gone. A conflict (kAborted): what was to go has changed since it was seen, and the cache holds
  // it as it is now.
  // `warnings` gets what the API server had to say besides; may be null.
  Status Apply(const api::TFJob& job, const plan::Action& action,
               std::vector<std::string>* warnings = nullptr);

  // Writes `status` over what is stored. A job that is gone is fine. After a conflict the cache
  // holds the current job, and the error is kAborted.
  Status WriteStatus(const api::TFJob& job, const api::TFJobStatus& status);

 private:
  template <typename Cache>
  Status Create(Cache& cache, const api::TFJob& job, absl::string_view group_version,
                absl::string_view plural, const plan::Action& action,
                std::vector<std::string>* warnings);
  template <typename Cache>
  Status Delete(Cache& cache, const api::TFJob& job, absl::string_view group_version,
                absl::string_view plural, const plan::Action& action);
  template <typename Cache>
  Status Patch(Cache& cache, const api::TFJob& job, absl::string_view group_version,
               absl::string_view plural, const plan::Action& action);

  k8s::Client* const client_;
  Informers* const informers_;
  const std::string pod_group_api_version_;
};

}  // namespace tensorfleet::controller
