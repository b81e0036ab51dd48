#include <CLI/CLI.hpp>
#include <iostream>

#include "runtime/cli/commands.h"
#include "runtime/graph/graph_import.h"

namespace tensorfleet::cli {

void AddVersionCommand(CLI::App* app, int*) {
  app->add_subcommand("version", "Prints the version, and that of the graphs it understands")
      ->callback([] {
        std::cout << "tensorfleet " << TENSORFLEET_VERSION << "\ngraph version " << kGraphVersion
                  << " (TensorFlow 2.15)\n";
      });
}

}  // namespace tensorfleet::cli
