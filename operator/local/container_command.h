// What a container of a pod runs on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "operator/local/addresses.h"
#include "operator/local/process.h"
#include "operator/local/volumes.h"

namespace tensorfleet::local {

struct CommandOptions {
  // Runs for a container without a command: the entry point of the runtime's image. Without
  // arguments it is asked to be a server.
  std::string runtime_binary = "tensorfleet";
  // Programs that a command names by a path of its image, absent here, are looked for here by their
  // name; empty: nowhere.
  std::string program_folder;
  std::map<std::string, std::string> variables;  // of all containers; win over the file's
  bool use_podman = false;
  std::string run_id;  // part of the names of podman's containers
};

// Program, arguments, environment and folder of `container`, one of `pod`'s: $(NAME) expanded as
// the kubelet does it, TF_CONFIG with addresses of this machine, folders in place of mounted paths
// (with podman: the image, with the folders mounted). `progress_file` is told to the process.
// Errors: a mount without a volume, a value that cannot be had here.
StatusOr<Command> CommandFor(const nlohmann::json& pod, const nlohmann::json& container,
                             const std::map<std::string, std::string>& volumes,
                             const Addresses& addresses, const std::string& progress_file,
                             const CommandOptions& options);

// "$(NAME)" by its value; what is not known stays, and "$$" is one dollar.
std::string ExpandVariables(const std::string& text,
                            const std::map<std::string, std::string>& variables);

}  // namespace tensorfleet::local
