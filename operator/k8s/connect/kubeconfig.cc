// The one file that wraps yaml-cpp for kubeconfigs: its exceptions end here.

#include <yaml-cpp/yaml.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "operator/http/proxy.h"
#include "operator/k8s/connect/cluster_config.h"

namespace tensorfleet::k8s {
namespace {

std::string Text(const YAML::Node& node, const char* key) {
  if (!node.IsMap()) return "";
  const YAML::Node value = node[key];
  return value && value.IsScalar() ? value.Scalar() : "";
}

// The `part` ("cluster", "user", "context") of the entry called `name` in list `list`.
StatusOr<YAML::Node> Entry(const YAML::Node& root, const char* list, const char* part,
                           const std::string& name) {
  const YAML::Node entries = root[list];
  if (entries && entries.IsSequence()) {
    for (const YAML::Node& entry : entries) {
      if (Text(entry, "name") != name) continue;
      const YAML::Node value = entry[part];
      if (value && value.IsMap()) return value;
      if (!value || value.IsNull()) return YAML::Node(YAML::NodeType::Map);
      return InvalidArgument(list, "[", name, "].", part, " is not a map");
    }
  }
  return NotFound(list, " has no entry named \"", name, "\"");
}

std::string Resolve(const std::string& path, const std::string& folder) {
  return path.empty() || path[0] == '/' || folder.empty() ? path : folder + "/" + path;
}

// `<key>-data` inline as base64, else the file named by `key`, else nothing.
StatusOr<std::string> DataOrFile(const YAML::Node& node, const std::string& key,
                                 const std::string& folder) {
  const std::string data = Text(node, (key + "-data").c_str());
  if (!data.empty()) {
    std::string decoded;
    if (!absl::Base64Unescape(data, &decoded)) return InvalidArgument(key, "-data is not base64");
    return decoded;
  }
  const std::string path = Text(node, key.c_str());
  if (path.empty()) return std::string();
  std::ifstream file(Resolve(path, folder));
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound(key, ": cannot read ", Resolve(path, folder));
  return text.str();
}

StatusOr<std::shared_ptr<Credentials>> ExecFrom(const YAML::Node& exec, const ClusterConfig& config,
                                                const std::string& folder, const Clock* clock) {
  ExecPlugin plugin;
  plugin.api_version = Text(exec, "apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return InvalidArgument("exec.apiVersion \"", plugin.api_version,
                           "\" is not supported, want client.authentication.k8s.io/v1 or /v1beta1");
  }
  if (Text(exec, "interactiveMode") == "Always") {
    return InvalidArgument(
        "exec.interactiveMode Always cannot be met by a program without a terminal");
  }
  plugin.command = Text(exec, "command");
  if (plugin.command.empty()) return InvalidArgument("exec.command is missing");
  if (absl::StrContains(plugin.command, "/")) plugin.command = Resolve(plugin.command, folder);
  plugin.install_hint = Text(exec, "installHint");
  if (const YAML::Node args = exec["args"]; args && args.IsSequence()) {
    for (const YAML::Node& arg : args) plugin.args.push_back(arg.Scalar());
  }
  if (const YAML::Node env = exec["env"]; env && env.IsSequence()) {
    for (const YAML::Node& item : env)
      plugin.env.emplace_back(Text(item, "name"), Text(item, "value"));
  }
  if (Text(exec, "provideClusterInfo") == "true") {
    nlohmann::json info = {{"server", config.server}};
    if (!config.tls.ca_pem.empty()) {
      info["certificate-authority-data"] = absl::Base64Escape(config.tls.ca_pem);
    }
    if (!config.tls_server_name.empty()) info["tls-server-name"] = config.tls_server_name;
    if (config.tls.insecure_skip_verify) info["insecure-skip-tls-verify"] = true;
    plugin.cluster_info_json = info.dump();
  }
  return ExecCredentials(std::move(plugin), clock);
}

StatusOr<ClusterConfig> FromRoot(const YAML::Node& root, const std::string& folder,
                                 std::string context, const Clock* clock) {
  if (!root.IsMap()) return InvalidArgument("not a kubeconfig: the document is not a map");
  if (context.empty()) context = Text(root, "current-context");
  if (context.empty()) return InvalidArgument("no current-context; name one with --context");
  TFLEET_ASSIGN_OR_RETURN(const YAML::Node chosen, Entry(root, "contexts", "context", context));
  TFLEET_ASSIGN_OR_RETURN(const YAML::Node cluster,
                          Entry(root, "clusters", "cluster", Text(chosen, "cluster")));
  ClusterConfig config;
  config.namespace_ = Text(chosen, "namespace");
  config.server = Text(cluster, "server");
  if (config.server.empty())
    return InvalidArgument("the cluster of context ", context, " has no server");
  config.proxy_url = Text(cluster, "proxy-url");
  if (!config.proxy_url.empty()) {
    TFLEET_RETURN_IF_ERROR(Prefixed("proxy-url: ", http::ParseProxy(config.proxy_url).status()));
  }
  config.tls_server_name = Text(cluster, "tls-server-name");
  config.tls.insecure_skip_verify = Text(cluster, "insecure-skip-tls-verify") == "true";
  TFLEET_ASSIGN_OR_RETURN(config.tls.ca_pem, DataOrFile(cluster, "certificate-authority", folder));
  if (config.tls.insecure_skip_verify && !config.tls.ca_pem.empty()) {
    return InvalidArgument(
        "insecure-skip-tls-verify leaves certificate-authority unasked; remove one of the two");
  }
  if (Text(chosen, "user").empty()) return config;

  TFLEET_ASSIGN_OR_RETURN(const YAML::Node user,
                          Entry(root, "users", "user", Text(chosen, "user")));
  if (user["auth-provider"]) {
    return Unimplemented("auth-provider was removed from Kubernetes; use an exec plug-in");
  }
  for (const char* field : {"as-groups", "as-uid", "as-user-extra"}) {
    if (user[field]) return Unimplemented(field, " is not supported; impersonate a user by `as`");
  }
  config.impersonate_user = Text(user, "as");
  TFLEET_ASSIGN_OR_RETURN(config.tls.certificate_pem,
                          DataOrFile(user, "client-certificate", folder));
  TFLEET_ASSIGN_OR_RETURN(config.tls.key_pem, DataOrFile(user, "client-key", folder));
  // Precedence as in kubectl: a token file beats a token, either beats the rest.
  if (const std::string file = Text(user, "tokenFile"); !file.empty()) {
    config.credentials = TokenFile(Resolve(file, folder), clock);
  } else if (const std::string token = Text(user, "token"); !token.empty()) {
    config.credentials = StaticToken(token);
  } else if (const std::string name = Text(user, "username"); !name.empty()) {
    config.credentials = BasicAuth(name, Text(user, "password"));
  } else if (const YAML::Node exec = user["exec"]; exec && exec.IsMap()) {
    TFLEET_ASSIGN_OR_RETURN(config.credentials, ExecFrom(exec, config, folder, clock));
  }
  return config;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("kubeconfig ", path, " cannot be read");
  return text.str();
}

// Makes the file names of an entry absolute: they are relative to the file that they stand in.
void ResolveFiles(YAML::Node entry, const std::string& folder) {
  for (const char* part : {"cluster", "user"}) {
    YAML::Node node = entry[part];
    if (!node || !node.IsMap()) continue;
    for (const char* key :
         {"certificate-authority", "client-certificate", "client-key", "tokenFile"}) {
      if (const std::string path = Text(node, key); !path.empty())
        node[key] = Resolve(path, folder);
    }
    if (const YAML::Node exec = node["exec"]; exec && exec.IsMap()) {
      const std::string command = Text(exec, "command");
      if (absl::StrContains(command, "/")) node["exec"]["command"] = Resolve(command, folder);
    }
  }
}

void MergeInto(YAML::Node& merged, const YAML::Node& root, const std::string& folder) {
  for (const char* list : {"contexts", "clusters", "users"}) {
    const YAML::Node entries = root[list];
    if (!entries || !entries.IsSequence()) continue;
    for (const YAML::Node& entry : entries) {
      const YAML::Node held = merged[list];
      bool is_there = false;
      for (size_t i = 0; held && i < held.size(); ++i) {
        is_there = is_there || Text(held[i], "name") == Text(entry, "name");
      }
      if (is_there || !entry.IsMap()) continue;
      YAML::Node copy = YAML::Clone(entry);
      ResolveFiles(copy, folder);
      merged[list].push_back(copy);
    }
  }
  const std::string current = Text(root, "current-context");
  if (Text(merged, "current-context").empty() && !current.empty()) {
    merged["current-context"] = current;
  }
}

}  // namespace

StatusOr<ClusterConfig> ParseKubeconfig(const std::string& text, const std::string& folder,
                                        const std::string& context, const Clock* clock) {
  try {
    return FromRoot(YAML::Load(text), folder, context, clock);
  } catch (const YAML::Exception& e) {
    return InvalidArgument("not YAML: ", e.what());
  }
}

StatusOr<ClusterConfig> LoadKubeconfig(const std::string& path, const std::string& context,
                                       const Clock* clock) {
  TFLEET_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  StatusOr<ClusterConfig> config = ParseKubeconfig(text, FolderOf(path), context, clock);
  if (!config.ok()) return Prefixed(absl::StrCat("kubeconfig ", path, ": "), config.status());
  return config;
}

StatusOr<ClusterConfig> LoadKubeconfigs(const std::vector<std::string>& paths,
                                        const std::string& context, const Clock* clock) {
  YAML::Node merged(YAML::NodeType::Map);
  std::vector<std::string> read;
  for (const std::string& path : paths) {
    const StatusOr<std::string> text = ReadFile(path);
    if (absl::IsNotFound(text.status())) continue;
    TFLEET_RETURN_IF_ERROR(text.status());
    read.push_back(path);
    try {
      const YAML::Node root = YAML::Load(*text);
      if (root.IsNull()) continue;  // an empty file
      if (!root.IsMap()) {
        return InvalidArgument("kubeconfig ", path, ": the document is not a map");
      }
      MergeInto(merged, root, FolderOf(path));
    } catch (const YAML::Exception& e) {
      return InvalidArgument("kubeconfig ", path, ": not YAML: ", e.what());
    }
  }
  if (read.empty()) {
    return NotFound("KUBECONFIG names no file that exists: ", absl::StrJoin(paths, ":"));
  }
  try {
    StatusOr<ClusterConfig> config = FromRoot(merged, "", context, clock);
    if (config.ok()) return config;
    return Prefixed(absl::StrCat("kubeconfig ", absl::StrJoin(read, ":"), ": "), config.status());
  } catch (const YAML::Exception& e) {
    return InvalidArgument("kubeconfig: ", e.what());
  }
}

}  // namespace tensorfleet::k8s
