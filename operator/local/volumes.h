// Volumes of a pod as folders of this machine.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::local {

struct VolumeOptions {
  // By the name of a persistentVolumeClaim or of a volume.
  std::map<std::string, std::string> folders;
  std::string scratch;  // where the folders of emptyDir volumes are made
};

// OK when a folder can be had for `volume` (an item of a PodSpec's volumes), given the names that
// the user has a folder for. The error says what to do.
Status FolderFor(const nlohmann::json& volume, const std::set<std::string>& given);

// Folders by volume name. Those of emptyDir volumes are made empty, those of others that are absent
// are made. Errors: what the system says, or FolderFor's.
StatusOr<std::map<std::string, std::string>> MakeVolumes(const nlohmann::json& pod,
                                                         const VolumeOptions& options);

struct Mount {
  std::string path;    // inside the container, without a slash at its end
  std::string folder;  // here
  bool read_only = false;
};

// The mounts of `container`, longest path first. Makes the folders of subPaths. Errors: a mount of
// a volume that the pod does not have.
StatusOr<std::vector<Mount>> MountsOf(const nlohmann::json& container,
                                      const std::map<std::string, std::string>& volumes);

// Puts the folder in place of each mounted path that stands in `text` as a path of its own or as
// the beginning of one: "--dir=/data/x" with /data mounted from /tmp/d gives "--dir=/tmp/d/x".
std::string WithFolders(absl::string_view text, const std::vector<Mount>& mounts);

}  // namespace tensorfleet::local
