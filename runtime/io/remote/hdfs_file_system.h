// "hdfs://host:port/path" as a file system, by WebHDFS, the HTTP interface of Hadoop's name nodes
// and of the gateways (HttpFS, Knox) that speak it. What differs from files on a disk:
//
//   * A file is seen as it grows, in pieces of 8 MiB, and after each Sync.
//   * A reader that needs bytes beyond the length that the file had when it was opened opens it
//     again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/io/file_system.h"

namespace tensorfleet {

struct HdfsConfig {
  // "http://name-node:9870", several of them where one stands in for another: TENSORFLEET_WEBHDFS,
  // separated by commas. Empty: the host of each path, on port 9870 (of "webhdfs://host:port/path"
  // and "swebhdfs://host:port/path": the port that is named).
  std::vector<std::string> addresses;
  // A delegation token, as `hdfs fetchdt --webservice` gets one where Kerberos is in use:
  // TENSORFLEET_HDFS_TOKEN_FILE, read anew when the server no longer takes the last one.
  std::string token_file;
  std::string user;  // without a token: HADOOP_USER_NAME, else USER
};

// `env` gives null for a variable that is not set.
HdfsConfig HdfsConfigFromEnv(const char* (*env)(const char* name));

// Paths begin with "hdfs://", "webhdfs://" or, for HTTPS, "swebhdfs://".
std::unique_ptr<FileSystem> MakeHdfsFileSystem(HdfsConfig config);

// The one that the process's environment describes; lives for ever.
FileSystem* DefaultHdfsFileSystem();

}  // namespace tensorfleet
