// "s3://bucket/key" as a file system. What differs from files on a disk:
//
//   * Folders are only parts of names: making and deleting them does nothing.
//   * A file is seen when it is closed, whole. Sync makes it seen before that while it is small
//     (below one part of an upload, 8 MiB), as event files are; of a larger one it does nothing.
//   * Rename copies within the store and then deletes, object by object: readers see the old name,
//     or both, or the new one.
#pragma once

#include <memory>

#include "runtime/io/file_system.h"
#include "runtime/io/remote/s3_client.h"

namespace tensorfleet {

// How many bytes part `number` (from 1) of an upload has: 8 MiB at first, and more by and by, so
// that the 10,000 parts that the store takes are enough for the largest object that it keeps, 5
// TiB.
size_t S3PartBytes(int number);

// Paths are "bucket/key", with or without "s3://" in front.
std::unique_ptr<FileSystem> MakeS3FileSystem(S3Config config);

// The one that the process's environment describes; lives for ever.
FileSystem* DefaultS3FileSystem();

}  // namespace tensorfleet
