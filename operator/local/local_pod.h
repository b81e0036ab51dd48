// A pod as processes of this machine: init containers one after the other, then all containers,
// restarted in place as the kubelet does it. For a program of one thread.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/objects/pod.h"
#include "operator/local/addresses.h"
#include "operator/local/console.h"
#include "operator/local/container_command.h"
#include "operator/local/process.h"
#include "operator/local/progress.h"
#include "operator/local/volumes.h"

namespace tensorfleet::local {

struct LocalPodOptions {
  VolumeOptions volumes;
  CommandOptions commands;
  std::string progress_folder;
  // Before the second restart in place; doubles up to five minutes. The first is at once.
  std::chrono::nanoseconds restart_delay = std::chrono::seconds(10);
};

class LocalPod {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `body` is the Pod that the plan made. Nothing runs before `start`. The others must outlive
  // this.
  LocalPod(nlohmann::json body, const std::string& uid, Time start, const Addresses* addresses,
           const LocalPodOptions* options, Console* console);

  // Begins to end: SIGTERM, and SIGKILL once the grace period is over (at once with `force`).
  void Delete(Time now, bool force);

  // Takes what has happened and does what is due: reads output, reaps, starts, restarts, kills.
  // Call it first thing, after SIGCHLD, when an output is readable, and at next_turn().
  void Turn(Time now);
  std::optional<Time> next_turn() const;
  std::vector<int> outputs() const;

  // Deleted, and nothing runs any more.
  bool is_gone() const { return deleted_ && !has_processes(); }
  bool has_processes() const;
  // As the rules see it.
  StatusOr<api::Pod> Observe() const;
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }

 private:
  struct Container {
    nlohmann::json spec;
    std::string name;
    bool is_init = false;
    std::string stream;  // the console's name for its lines
    std::unique_ptr<Process> process;
    std::optional<int> exit_code;  // of the last run
    std::string reason, message;   // why it could not be started
    int restarts = 0;
    std::optional<Time> restart_at;
    LineBuffer lines;
  };

  void Read(Container& container, Time now);
  void Reap(Container& container, Time now);
  void Start(Container& container, Time now);
  void Ended(Container& container, int exit_code, Time now);
  bool IsRestarted(const Container& container) const;
  void StartWhatIsDue(Time now);
  api::PodPhase phase() const;
  nlohmann::json StatusOf(const Container& container) const;

  nlohmann::json body_;
  const std::string name_;
  const Addresses* const addresses_;
  const LocalPodOptions* const options_;
  Console* const console_;
  const std::string policy_;  // spec.restartPolicy
  std::chrono::seconds grace_{30};
  std::string progress_file_;
  Progress progress_;
  std::optional<StatusOr<std::map<std::string, std::string>>> volumes_;
  std::vector<Container> containers_;  // init containers first
  std::optional<Time> start_at_;       // until it has come
  bool deleted_ = false;
  std::optional<Time> kill_at_;
};

}  // namespace tensorfleet::local
