// A process group with its output. For a program of one thread: start, reap and signal from it
// only.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace tensorfleet::local {

struct Command {
  std::vector<std::string> argv;                 // the first is looked up in PATH
  std::map<std::string, std::string> variables;  // over those of this process
  std::string folder;                            // working folder; empty: this process's
  // What ends the work when killing the process does not (a container's client); may be empty.
  std::vector<std::string> kill;
};

class Process {
 public:
  // Starts `command` in a group of its own, its output and errors into one pipe. Errors: NotFound
  // or FailedPrecondition when the program or folder cannot be used, in the system's words.
  static StatusOr<std::unique_ptr<Process>> Start(const Command& command);

  // Kills what is left of the group.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // To the whole group.
  void Signal(int signal);
  // SIGKILL, and the command's own way.
  void Kill();

  // True once the process has ended; then the rest of its group is killed.
  bool Reap();
  // After Reap: its status, or 128 plus the signal that ended it.
  int exit_code() const { return exit_code_; }

  // Readable without waiting; -1 after the end of the output.
  int output() const { return output_; }
  // Appends what there is to `out`. Closes the output at its end.
  void ReadOutput(std::string* out);
  // Gives up on output that others still hold open.
  void CloseOutput();

 private:
  Process(pid_t pid, int output, std::vector<std::string> kill)
      : pid_(pid), output_(output), kill_(std::move(kill)) {}

  const pid_t pid_;
  int output_;
  const std::vector<std::string> kill_;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace tensorfleet::local
