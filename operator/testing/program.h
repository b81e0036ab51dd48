// A program under test in a process of its own: started, signalled, waited for with a deadline.
// What still runs when the object goes is killed. Not thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tensorfleet::testing {

class Program {
 public:
  // Runs `args` (the first is the program's path) with `environment` ("NAME=VALUE") added to ours;
  // what it prints goes into the file `log`.
  Program(const std::vector<std::string>& args, const std::vector<std::string>& environment,
          std::string log);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int pid() const { return pid_; }
  void Signal(int signal);
  // The exit status, minus the signal that killed it, or kTimedOut when it still runs.
  static constexpr int kTimedOut = -1000;
  int Finish(std::chrono::seconds limit = std::chrono::seconds(30));
  // What it has printed so far.
  std::string Printed() const;

 private:
  int pid_ = 0;
  const std::string log_;
};

}  // namespace tensorfleet::testing
