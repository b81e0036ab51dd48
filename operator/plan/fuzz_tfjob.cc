// libFuzzer target: any bytes as a TFJob. Reading, validating and planning must neither crash nor
// hang, and what was written must read back the same.
#include <cstddef>
#include <cstdint>
#include <memory>

#include <nlohmann/json.hpp>

#include "operator/api/objects/pod.h"
#include "operator/api/validate.h"
#include "operator/plan/pipeline.h"
#include "runtime/base/check.h"

using tensorfleet::api::TFJob;
using tensorfleet::api::TFJobStatus;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = nlohmann::json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return 0;
  (void)tensorfleet::api::PodFromJson(json);
  auto read = tensorfleet::api::TFJobFromJson(json);
  if (!read.ok()) return 0;
  const auto job = std::make_shared<const TFJob>(*std::move(read));
  (void)tensorfleet::api::ValidateUpdate(*job, *job);
  // Large jobs cost time in proportion and find nothing that small ones do not.
  if (job->spec.total_replicas() > 20) return 0;

  tensorfleet::plan::Snapshot snapshot;
  snapshot.job = job;
  snapshot.now = absl::FromUnixSeconds(1704495500);
  for (const char* scheduler : {"", "volcano"}) {
    tensorfleet::plan::Options options;
    options.gang_scheduler_name = scheduler;
    const tensorfleet::plan::Plan plan = tensorfleet::plan::Reconcile(snapshot, options);
    const TFJobStatus again = tensorfleet::api::TFJobStatusFromJson(ToJson(plan.status));
    TFLEET_CHECK(ToJson(again) == ToJson(plan.status));
    TFLEET_CHECK(!(plan.status.IsTrue("Succeeded") && plan.status.IsTrue("Failed")) ||
                 job->is_finished());
  }
  return 0;
}
