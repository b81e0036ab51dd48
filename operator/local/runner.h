// A TFJob on this machine: the operator's plan, with processes for pods. What a cluster would do,
// it does, with two exceptions: what still runs when the job is over is ended, and a deleted
// replica's name is free once its processes are gone. For a program of one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "operator/local/addresses.h"
#include "operator/local/console.h"
#include "operator/local/job_file.h"
#include "operator/local/local_pod.h"
#include "operator/local/table.h"
#include "operator/plan/pipeline.h"

namespace tensorfleet::local {

class Runner {
 public:
  // `console` must outlive the runner.
  Runner(std::shared_ptr<const api::TFJob> job, Addresses addresses, LocalPodOptions options,
         Console* console);

  // Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD, and runs the job to its end or until one of the
  // first three comes; all processes are gone afterwards. Returns 0 for a job that has succeeded, 1
  // for one that has failed, 128 plus the signal for one that was stopped.
  StatusOr<int> Run();

  // How it stands, or stood at the end.
  JobView View() const;

 private:
  using Time = LocalPod::Time;

  // Plans and acts until there is nothing to do.
  void Reconcile();
  plan::Snapshot Look() const;
  void Store(const api::TFJobStatus& status);
  void Carry(const plan::Action& action);
  void TakeTurns();
  void OnSignal(int signal);
  // Ends what still runs.
  void EndAll(bool force);
  // Waits for a signal, output or the next appointment.
  void Wait(int signals);
  // Takes notice of how each replica is, for when its pod is gone.
  void Notice();
  std::string StatusText() const;

  const Addresses addresses_;
  const LocalPodOptions options_;
  const plan::Options plan_options_;
  Console* const console_;
  const Time begin_;
  std::shared_ptr<const api::TFJob> job_;
  std::map<std::string, std::unique_ptr<LocalPod>> pods_;
  std::map<std::string, std::shared_ptr<const api::Service>> services_;
  std::map<std::string, Time> starts_;  // of each replica's latest pod
  std::map<api::ReplicaId, ReplicaRow> rows_;
  std::vector<double> accuracy_;
  std::optional<absl::Time> look_again_;
  int next_uid_ = 1;
  int stopped_by_ = 0;  // the signal
};

}  // namespace tensorfleet::local
