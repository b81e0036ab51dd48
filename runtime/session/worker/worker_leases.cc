// How a worker lets go of what masters left behind: they, or the network, may have died before they
// could ask for it. TensorFlow's masters do not renew anything, so a master that says nothing is
// asked: any master, ours or TensorFlow's, knows its sessions (MasterService/ListDevices).

#include "runtime/base/log.h"
#include "runtime/session/metrics.h"
#include "runtime/session/worker/registered_graph.h"
#include "runtime/session/worker/worker.h"

namespace tensorfleet {
namespace {

constexpr auto kMasterAnswers = std::chrono::seconds(10);

}  // namespace

void Worker::EndLeases(IdleClock::TimePoint now) {
  std::vector<std::shared_ptr<WorkerSession>> expired, quiet;
  {
    MutexLock lock(&mu_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      WorkerSession& session = *it->second;
      if (session.is_of_this_process()) {  // closed by its master, which dies with this worker
        ++it;
        continue;
      }
      const bool may_ask = !session.MasterAddress().empty();
      const auto limit = may_ask ? options_.master_lease : options_.idle_timeout;
      const auto idle = session.calls().IdleAt(now);
      if (limit.count() > 0 && idle > limit) {
        LogInfo("Dropping a session whose master is not heard of",
                {{"session", session.handle()}, {"master", session.options().master_task}});
        expired.push_back(std::move(it->second));
        sessions_.erase(it++);
        continue;
      }
      if (may_ask && idle.count() > 0) quiet.push_back(it->second);
      ++it;
    }
  }
  ServerMetrics().worker_sessions_expired += static_cast<int64_t>(expired.size());
  EndSessions(expired, "its master is not heard of");
  for (const auto& session : quiet) {
    CallOptions call;
    call.timeout = kMasterAnswers;
    options_.peers->AskForSession(call, session->MasterAddress(), session->handle(),
                                  [session](const Status& status) {
                                    if (status.ok() || absl::IsUnimplemented(status)) {
                                      session->calls().Touch();
                                    }
                                  });
  }
  if (options_.idle_timeout.count() > 0) {
    legacy_session_->RemoveIdleGraphs(options_.idle_timeout, now);
    steps_.EndThoseOf(*legacy_session_,
                      MarkDerived(Aborted("the step was idle for too long on this worker")),
                      options_.idle_timeout, now);
  }
}

}  // namespace tensorfleet
