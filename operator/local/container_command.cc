#include "operator/local/container_command.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "operator/api/fields/json_fields.h"
#include "operator/api/objects/labels.h"
#include "operator/local/progress.h"

namespace tensorfleet::local {
namespace {

using api::Json;
using Variables = std::map<std::string, std::string>;

std::vector<std::string> Strings(const Json& object, const char* key) {
  std::vector<std::string> strings;
  for (const Json& item : api::ArrayMember(object, key)) {
    strings.push_back(item.is_string() ? item.get<std::string>() : api::Dump(item));
  }
  return strings;
}

// spec.containers.env.valueFrom.fieldRef.
StatusOr<std::string> PodField(const Json& pod, absl::string_view path) {
  const Json& metadata = pod["metadata"];
  if (path == "metadata.name") return api::StringMember(metadata, "name");
  if (path == "metadata.namespace") return api::StringMember(metadata, "namespace");
  if (path == "metadata.uid") return api::StringMember(metadata, "uid");
  if (path == "status.podIP" || path == "status.hostIP" || path == "status.podIPs" ||
      path == "status.hostIPs") {
    return std::string("127.0.0.1");
  }
  if (path == "spec.serviceAccountName") return std::string("default");
  if (path == "spec.nodeName") {
    char host[256] = "localhost";
    gethostname(host, sizeof(host) - 1);
    return std::string(host);
  }
  for (const char* map : {"labels", "annotations"}) {
    absl::string_view key = path;
    if (!absl::ConsumePrefix(&key, absl::StrCat("metadata.", map, "['"))) continue;
    if (!absl::ConsumeSuffix(&key, "']")) break;
    const Json* values = api::ObjectMember(metadata, map);
    return values == nullptr ? "" : api::StringMember(*values, std::string(key).c_str());
  }
  return InvalidArgument("fieldRef \"", path, "\" is not supported by a local run");
}

StatusOr<Variables> VariablesOf(const Json& pod, const Json& container, const Addresses& addresses,
                                const CommandOptions& options) {
  Variables variables;
  for (const Json& entry : api::ArrayMember(container, "env")) {
    const std::string name = api::StringMember(entry, "name");
    if (name.empty() || options.variables.count(name) > 0) continue;
    const Json* from = api::ObjectMember(entry, "valueFrom");
    if (from == nullptr) {
      std::string value = ExpandVariables(api::StringMember(entry, "value"), variables);
      variables[name] = name == api::kTfConfigEnv ? addresses.Localize(value) : std::move(value);
    } else if (const Json* field = api::ObjectMember(*from, "fieldRef")) {
      TFLEET_ASSIGN_OR_RETURN(variables[name],
                              PodField(pod, api::StringMember(*field, "fieldPath")));
    }
    // Other sources are optional here: those that are not were refused with the file.
  }
  for (const auto& [name, value] : options.variables) variables[name] = value;
  return variables;
}

void RunByPodman(const Json& pod, const Json& container, const std::vector<Mount>& mounts,
                 const Variables& variables, const std::string& progress_file,
                 const CommandOptions& options, std::vector<std::string> program,
                 std::vector<std::string> args, Command& command) {
  const std::string name = absl::StrCat(api::StringMember(pod["metadata"], "name"), "-",
                                        api::StringMember(container, "name"), "-", options.run_id);
  std::vector<std::string>& argv = command.argv;
  argv = {"podman", "run", "--rm", "--replace", "--name", name, "--network=host"};
  for (const Mount& mount : mounts) {
    argv.push_back("--volume");
    argv.push_back(absl::StrCat(mount.folder, ":", mount.path, mount.read_only ? ":ro" : ""));
  }
  const std::string progress_folder = std::filesystem::path(progress_file).parent_path();
  argv.push_back("--volume");
  argv.push_back(absl::StrCat(progress_folder, ":", progress_folder));
  for (const auto& [key, value] : variables) {
    argv.push_back("--env");
    argv.push_back(absl::StrCat(key, "=", value));
  }
  if (const std::string folder = api::StringMember(container, "workingDir"); !folder.empty()) {
    argv.push_back("--workdir");
    argv.push_back(folder);
  }
  if (!program.empty()) {
    argv.push_back("--entrypoint");
    argv.push_back(api::Dump(Json(program)));
  }
  argv.push_back(api::StringMember(container, "image"));
  argv.insert(argv.end(), args.begin(), args.end());
  command.kill = {"podman", "kill", name};
}

// "/usr/bin/train" of the image is `folder`/train, if that is there and the other is not.
std::string FindProgram(const std::string& program, const std::string& folder) {
  if (folder.empty() || program.empty() || program[0] != '/') return program;
  if (access(program.c_str(), X_OK) == 0) return program;
  const std::string here =
      std::filesystem::path(folder) / std::filesystem::path(program).filename();
  return access(here.c_str(), X_OK) == 0 ? here : program;
}

}  // namespace

std::string ExpandVariables(const std::string& text, const Variables& variables) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$' || at + 1 == text.size()) {
      out += text[at++];
    } else if (text[at + 1] == '$') {
      out += '$';
      at += 2;
    } else if (const size_t end = text.find(')', at);
               text[at + 1] == '(' && end != std::string::npos) {
      const auto found = variables.find(text.substr(at + 2, end - at - 2));
      out += found == variables.end() ? text.substr(at, end + 1 - at) : found->second;
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

StatusOr<Command> CommandFor(const Json& pod, const Json& container,
                             const std::map<std::string, std::string>& volumes,
                             const Addresses& addresses, const std::string& progress_file,
                             const CommandOptions& options) {
  Command command;
  TFLEET_ASSIGN_OR_RETURN(Variables variables, VariablesOf(pod, container, addresses, options));
  TFLEET_ASSIGN_OR_RETURN(const std::vector<Mount> mounts, MountsOf(container, volumes));
  variables[kProgressFileVariable] = progress_file;
  std::vector<std::string> program = Strings(container, "command");
  std::vector<std::string> args = Strings(container, "args");
  for (auto* list : {&program, &args}) {
    for (std::string& text : *list) text = ExpandVariables(text, variables);
  }
  if (options.use_podman) {
    RunByPodman(pod, container, mounts, variables, progress_file, options, std::move(program),
                std::move(args), command);
    return command;
  }
  if (program.empty()) {
    program = {options.runtime_binary};
    if (args.empty()) args = {"server"};
  }
  for (const auto* list : {&program, &args}) {
    for (const std::string& text : *list) command.argv.push_back(WithFolders(text, mounts));
  }
  command.argv[0] = FindProgram(command.argv[0], options.program_folder);
  for (auto& [name, value] : variables) {
    // TF_CONFIG has no paths, and the file's own variables may.
    command.variables[name] = name == api::kTfConfigEnv ? value : WithFolders(value, mounts);
  }
  command.variables.emplace("HOSTNAME", api::StringMember(pod["metadata"], "name"));
  command.folder = WithFolders(api::StringMember(container, "workingDir"), mounts);
  return command;
}

}  // namespace tensorfleet::local
