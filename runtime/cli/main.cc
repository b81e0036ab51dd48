#include <CLI/CLI.hpp>

#include "runtime/cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app("tensorfleet: distributed dataflow graphs for TensorFlow's clients", "tensorfleet");
  app.require_subcommand(1);
  int exit_code = 0;
  tensorfleet::cli::AddServerCommand(&app, &exit_code);
  tensorfleet::cli::AddTrainCommand(&app, &exit_code);
  tensorfleet::cli::AddRunCommand(&app, &exit_code);
  tensorfleet::cli::AddInspectCommand(&app, &exit_code);
  tensorfleet::cli::AddOpsCommand(&app, &exit_code);
  tensorfleet::cli::AddVersionCommand(&app, &exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
