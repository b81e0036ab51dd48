// The steps of a reconcile, one file each. Their order and what each is for: pipeline.cc.
#pragma once

#include "operator/plan/pass.h"

namespace tensorfleet::plan {

Next SkipForeign(Pass& pass);
Next SettleFinished(Pass& pass);
Next RefuseInvalid(Pass& pass);
Next NoteCreated(Pass& pass);
Next Suspend(Pass& pass);
Next Resume(Pass& pass);
Next StartClock(Pass& pass);
Next ReportTroubles(Pass& pass);
Next CountReplicas(Pass& pass);
Next TakeProgress(Pass& pass);
Next JudgeSuccess(Pass& pass);
Next EnforceDeadline(Pass& pass);
Next EnforcePendingTimeout(Pass& pass);
Next JudgeFailures(Pass& pass);
Next EnforceBackoffLimit(Pass& pass);
Next RestartFailed(Pass& pass);
Next ShowRunning(Pass& pass);
Next ScaleIn(Pass& pass);
Next DeleteStale(Pass& pass);
Next EnsurePodGroup(Pass& pass);
Next EnsureServices(Pass& pass);
Next EnsurePods(Pass& pass);

}  // namespace tensorfleet::plan
