// "http://…" and "https://…" as a file system that can only be read. There are no folders and no
// lists of files. Addresses of the machine's own link (169.254.0.0/16, fe80::/10), where clouds
// keep credentials, are refused.
#pragma once

#include "runtime/io/file_system.h"

namespace tensorfleet {

// A file is read in ranges where its server gives them; else it is fetched whole when it is opened,
// up to this size.
inline constexpr size_t kMostOfWholeFile = size_t{256} << 20;

// Lives for ever. Errors of reading: those of HttpError; DataLoss for a file that changes while it
// is read (by its ETag, or its modification time); of everything else PermissionDenied.
FileSystem* WebFileSystem();

}  // namespace tensorfleet
