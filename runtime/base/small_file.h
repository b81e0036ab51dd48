// Configuration files: read whole, limited in size.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace tensorfleet {

// The bytes of a regular file of at most 64 MiB. Errors: NotFound, PermissionDenied,
// InvalidArgument (a directory, too big), with the path and what the system says.
StatusOr<std::string> ReadSmallFile(const std::string& path);
// Replaces the file. Errors: what the system says, with the path.
Status WriteSmallFile(const std::string& path, absl::string_view content);

}  // namespace tensorfleet
