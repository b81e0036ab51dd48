#include "operator/local/flags.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace tensorfleet::local {
namespace {

// NAME=VALUE pairs into a map.
CLI::Option* AddPairs(CLI::App* app, const std::string& name, const std::string& help,
                      std::map<std::string, std::string>* out) {
  return app
      ->add_option_function<std::vector<std::string>>(
          name,
          [out](const std::vector<std::string>& pairs) {
            for (const std::string& pair : pairs) {
              const size_t equals = pair.find('=');
              if (equals == 0 || equals == std::string::npos) {
                throw CLI::ValidationError("\"" + pair + "\" is not NAME=VALUE");
              }
              (*out)[pair.substr(0, equals)] = pair.substr(equals + 1);
            }
          },
          help)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

bool ParseFlags(int argc, char** argv, Flags* flags, int* exit_code) {
  CLI::App app(
      "Runs a TFJob on this machine: each replica as a process, found by the others at ports of "
      "the "
      "loopback interface, with the restarts and the outcome that the cluster would have. Ctrl-C "
      "stops everything. Exit status: 0 the job has succeeded, 1 it has failed, 2 the file or the "
      "command line is refused, 128 plus a signal that stopped it.",
      "tensorfleet run");
  app.add_option("file", flags->file, "YAML or JSON file with the TFJob; - for standard input")
      ->required();
  app.add_option("--set", flags->overrides,
                 "change a field, PATH=VALUE, repeatable; the path begins inside spec: "
                 "tfReplicaSpecs.Worker.replicas=4")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--job", flags->job, "name of the TFJob to run, where the file has several");
  AddPairs(&app, "--volume",
           "folder for a persistentVolumeClaim, or for any volume by its name: NAME=FOLDER, "
           "repeatable",
           &flags->volumes);
  AddPairs(&app, "--env", "variable of all containers: NAME=VALUE, repeatable; wins over the file",
           &flags->variables);
  app.add_option("--server-binary", flags->runtime_binary,
                 "what a container without a command runs, as the runtime's image would; without "
                 "args it is given `server` (default: tensorfleet beside this program)");
  app.add_flag("--podman", flags->use_podman, "run the containers' images by podman");
  app.add_option("--dir", flags->folder,
                 "folder for logs and emptyDir volumes (default: tensorfleet-run/<job>)");
  app.add_option("--restart-delay", flags->restart_delay,
                 "seconds before the second restart in place; doubles up to 300 (the first is at "
                 "once)")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 300.0));
  app.add_option("--color", flags->colour, "auto, always or never")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "always", "never"}));
  auto* plain =
      app.add_flag("--plain", flags->plain, "lines of replicas and no table, also on a terminal");
  auto* verbose = app.add_flag("-v,--verbose", flags->verbose,
                               "lines of replicas above the table; without a terminal they are "
                               "shown anyway");
  app.add_flag("-q,--quiet", flags->quiet,
               "no lines of replicas, also without a terminal: they are in the run's logs")
      ->excludes(verbose)
      ->excludes(plain);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  return true;
}

}  // namespace tensorfleet::local
