// "gs://bucket/key" as a file system, by Google Cloud Storage's JSON interface. What differs from
// files on a disk:
//
//   * Folders are only parts of names: making and deleting them does nothing.
//   * A file is seen when it is closed, whole. Sync makes it seen before that while it is small
//     (below 8 MiB), as event files are; of a larger one it does nothing.
//   * A reader sees the object as it was when it was opened, whatever is written since; where the
//     store has dropped it by then, reading is an error.
//   * Rename copies within the store and then deletes: readers see the old name, or both, or the
//     new one.
#pragma once

#include <memory>

#include "runtime/io/file_system.h"
#include "runtime/io/remote/gs_credentials.h"

namespace tensorfleet {

struct GsConfig {
  GsIdentity identity;
  std::string endpoint = "https://storage.googleapis.com";
};

// From STORAGE_EMULATOR_HOST ("localhost:9023", with or without http://; it is asked without
// credentials), GOOGLE_APPLICATION_CREDENTIALS and GCE_METADATA_HOST. `env` gives null for one that
// is not set.
GsConfig GsConfigFromEnv(const char* (*env)(const char* name));

// Paths begin with "gs://".
std::unique_ptr<FileSystem> MakeGsFileSystem(GsConfig config);

// The one that the process's environment describes; lives for ever.
FileSystem* DefaultGsFileSystem();

}  // namespace tensorfleet
