#include "operator/local/volumes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "operator/api/fields/json_fields.h"

namespace tensorfleet::local {
namespace {

namespace fs = std::filesystem;
using api::Json;

std::string ClaimOf(const Json& volume) {
  const Json* claim = api::ObjectMember(volume, "persistentVolumeClaim");
  return claim == nullptr ? "" : api::StringMember(*claim, "claimName");
}

// The volume's kind: the one key beside its name. A volume without one is an emptyDir.
std::string KindOf(const Json& volume) {
  if (volume.is_object()) {
    for (const auto& [key, value] : volume.items()) {
      if (key != "name") return key;
    }
  }
  return "emptyDir";
}

bool IsOptional(const Json& volume) {
  const Json* source = api::ObjectMember(volume, KindOf(volume).c_str());
  return source != nullptr && api::BoolMember(*source, "optional");
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return OkStatus();
  return InvalidArgument("cannot make folder ", path, ": ", error.message());
}

Status MakeEmpty(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return InvalidArgument("cannot empty folder ", path, ": ", error.message());
  return MakeFolder(path);
}

bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/';
}

}  // namespace

Status FolderFor(const Json& volume, const std::set<std::string>& given) {
  const std::string name = api::StringMember(volume, "name");
  const std::string claim = ClaimOf(volume);
  if (given.count(name) > 0 || (!claim.empty() && given.count(claim) > 0)) return OkStatus();
  const std::string kind = KindOf(volume);
  if (kind == "emptyDir" || IsOptional(volume)) return OkStatus();
  if (kind == "hostPath") {
    const Json* host = api::ObjectMember(volume, "hostPath");
    if (host != nullptr && absl::StartsWith(api::StringMember(*host, "path"), "/"))
      return OkStatus();
    return InvalidArgument("hostPath.path must be an absolute path");
  }
  return InvalidArgument(kind, " needs a folder on this machine: --volume ",
                         claim.empty() ? name : claim, "=FOLDER");
}

StatusOr<std::map<std::string, std::string>> MakeVolumes(const Json& pod,
                                                         const VolumeOptions& options) {
  std::map<std::string, std::string> folders;
  std::set<std::string> given;
  for (const auto& [name, folder] : options.folders) given.insert(name);
  const Json* metadata = api::ObjectMember(pod, "metadata");
  const Json* spec = api::ObjectMember(pod, "spec");
  if (metadata == nullptr || spec == nullptr) return InvalidArgument("pod has no spec");
  for (const Json& volume : api::ArrayMember(*spec, "volumes")) {
    TFLEET_RETURN_IF_ERROR(FolderFor(volume, given));
    const std::string name = api::StringMember(volume, "name");
    std::string& folder = folders[name];
    auto mapped = options.folders.find(name);
    if (mapped == options.folders.end()) mapped = options.folders.find(ClaimOf(volume));
    if (mapped != options.folders.end()) {
      folder = fs::absolute(mapped->second).lexically_normal();
      TFLEET_RETURN_IF_ERROR(MakeFolder(folder));
    } else if (const Json* host = api::ObjectMember(volume, "hostPath")) {
      folder = api::StringMember(*host, "path");
      // A file may be mounted too; only what is absent is made, as a folder.
      if (!fs::exists(folder)) TFLEET_RETURN_IF_ERROR(MakeFolder(folder));
    } else {
      folder = absl::StrCat(options.scratch, "/", api::StringMember(*metadata, "name"), "/", name);
      TFLEET_RETURN_IF_ERROR(MakeEmpty(folder));
    }
  }
  return folders;
}

StatusOr<std::vector<Mount>> MountsOf(const Json& container,
                                      const std::map<std::string, std::string>& volumes) {
  std::vector<Mount> mounts;
  for (const Json& json : api::ArrayMember(container, "volumeMounts")) {
    const std::string name = api::StringMember(json, "name");
    const auto volume = volumes.find(name);
    if (volume == volumes.end()) {
      return InvalidArgument("container ", api::StringMember(container, "name"),
                             " mounts volume \"", name, "\", which the pod does not have");
    }
    Mount mount{api::StringMember(json, "mountPath"), volume->second,
                api::BoolMember(json, "readOnly")};
    while (mount.path.size() > 1 && mount.path.back() == '/') mount.path.pop_back();
    const std::string below = api::StringMember(json, "subPath");
    if (!below.empty()) {
      absl::StrAppend(&mount.folder, "/", below);
      if (!fs::exists(mount.folder)) TFLEET_RETURN_IF_ERROR(MakeFolder(mount.folder));
    }
    mounts.push_back(std::move(mount));
  }
  std::stable_sort(mounts.begin(), mounts.end(),
                   [](const Mount& a, const Mount& b) { return a.path.size() > b.path.size(); });
  return mounts;
}

std::string WithFolders(absl::string_view text, const std::vector<Mount>& mounts) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const absl::string_view rest = text.substr(at);
    const bool begins = at == 0 || !IsPathCharacter(text[at - 1]);
    const auto mount = std::find_if(mounts.begin(), mounts.end(), [&](const Mount& m) {
      if (!begins || m.path.empty() || !absl::StartsWith(rest, m.path)) return false;
      const char next = rest.size() == m.path.size() ? '/' : rest[m.path.size()];
      return next == '/' || !IsPathCharacter(next);
    });
    if (mount == mounts.end()) {
      out += text[at++];
      continue;
    }
    out += mount->folder;
    at += mount->path.size();
  }
  return out;
}

}  // namespace tensorfleet::local
