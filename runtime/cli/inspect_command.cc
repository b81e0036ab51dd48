#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "runtime/cli/commands.h"
#include "runtime/cli/inspect.h"

namespace tensorfleet::cli {
namespace {

constexpr char kHelp[] =
    R"(Prints what the files of a training job hold.

A checkpoint, by its prefix, its .index file, or its folder (the latest one there): names, types and shapes of its
tensors, or with --tensor the values of one. An event file: its records. A graph that was exported with
tf.compat.v1.train.export_meta_graph: its variables, what `tensorfleet train` would run, and ops that it could not.
Paths may begin with s3://, gs://, hdfs:// or https://.

Examples:
  tensorfleet inspect /shared/run1
  tensorfleet inspect /shared/run1/model.ckpt-2000 --tensor dense/kernel
  tensorfleet inspect /shared/run1/events.out.tfevents.1700000000.host.1.1
  tensorfleet inspect model.meta)";

}  // namespace

void AddInspectCommand(CLI::App* app, int* exit_code) {
  struct Flags {
    std::string path;
    InspectOptions options;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app->add_subcommand("inspect", kHelp);
  command->add_option("path", flags->path, "Checkpoint, folder, event file or graph")->required();
  command->add_option("--tensor", flags->options.tensor, "One tensor of the checkpoint, by name");
  command->add_option("--values", flags->options.max_elements, "How many of its values at most")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->callback([flags, exit_code] {
    const Status status = Inspect(flags->path, flags->options, std::cout);
    std::cout.flush();
    if (status.ok()) return;
    std::cerr << "tensorfleet inspect: " << status.message() << std::endl;
    *exit_code = 1;
  });
}

}  // namespace tensorfleet::cli
