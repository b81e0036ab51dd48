#include <malloc.h>

#include <CLI/CLI.hpp>

#include "absl/synchronization/mutex.h"
#include "runtime/cli/commands.h"

int main(int argc, char** argv) {
  // What gRPC receives comes in many small blocks: to give them back to the system after each
  // message, as malloc would, costs more than the message. (Servers do it when they are idle.)
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // Debian's Abseil looks for cycles in each lock that gRPC takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  CLI::App app("tensorfleet: distributed dataflow graphs for TensorFlow's clients", "tensorfleet");
  app.require_subcommand(1);
  int exit_code = 0;
  tensorfleet::cli::AddServerCommand(&app, &exit_code);
  tensorfleet::cli::AddTrainCommand(&app, &exit_code);
  tensorfleet::cli::AddSiblingCommands(&app, &exit_code);
  tensorfleet::cli::AddInspectCommand(&app, &exit_code);
  tensorfleet::cli::AddOpsCommand(&app, &exit_code);
  tensorfleet::cli::AddVersionCommand(&app, &exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
