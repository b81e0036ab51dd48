// What the API server says of a TFJob and its pods, as a person wants to see it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tensorfleet::view {

// One line of a job's life.
struct Moment {
  std::string time;  // RFC 3339, as the API server writes it
  std::string what;  // "Running", "Warning FailedScheduling"
  std::string text;
};

// What one of a job's servers counts. Rates are a second's, over the time since it was last asked.
struct TaskNumbers {
  double steps = 0;     // of its own sessions; without any, pieces of others' steps
  double sent = 0;      // bytes that other tasks got from it, in all
  double received = 0;  // bytes that it got
  double waiting = 0;   // tensors that others wait for now
  double resident = 0;  // bytes of memory
  std::optional<double> steps_per_second, sent_per_second;
};

struct Task {
  std::string name;   // worker-0
  std::string job;    // worker, as in /job:worker
  int64_t index = 0;  // as in /task:0
  std::string pod;
  std::string state;  // Running, Pending, "CrashLoopBackOff", Terminating, …
  std::string node;
  std::string started;
  int64_t restarts = 0;
  std::string last_end;  // "exit code 137, OOMKilled"; "" when no container of it has ended
  bool is_running = false;
  int metrics_port = 0;  // 0: it says none
  std::optional<TaskNumbers> numbers;
};

struct JobRow {
  std::string ns, name, state, created;
  std::string replicas;  // "chief 1, ps 2, worker 4"
};

struct JobFacts {
  JobRow row;
  std::string uid, started, ended, reason;
  std::string progress;  // the chief's annotation, as it is
  std::vector<Moment> moments;
  std::vector<Task> tasks;
};

JobRow RowOf(const nlohmann::json& job);
// `pods` and `events` are lists of the API server; each may be null.
JobFacts FactsOf(const nlohmann::json& job, const nlohmann::json& pods,
                 const nlohmann::json& events);

// What a server's metrics say of it. `edges`: bytes by sender and receiver, each as "worker:3"; a
// transfer may be counted at both ends.
struct TaskMetrics {
  TaskNumbers numbers;
  std::map<std::pair<std::string, std::string>, double> edges;
};
TaskMetrics ReadTaskMetrics(const std::string& text);

}  // namespace tensorfleet::view
