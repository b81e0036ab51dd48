// What holds for every file system: paths, patterns, whole files.
#include "runtime/io/file_system.h"

#include <fnmatch.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "runtime/base/random_id.h"
#include "runtime/io/remote/gs_file_system.h"
#include "runtime/io/remote/hdfs_file_system.h"
#include "runtime/io/remote/s3_file_system.h"
#include "runtime/io/remote/web_file_system.h"

namespace tensorfleet {
namespace {

constexpr char kTemporary[] = ".tempstate";
constexpr absl::string_view kWildcards = "*?[\\";

std::string Join(const std::string& directory, absl::string_view name) {
  if (directory.empty()) return std::string(name);
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/", name);
}

// Adds what matches parts[at...] below `directory`. Names that begin with "." match only when the
// part says so.
Status GlobBelow(FileSystem& files, const std::string& directory,
                 const std::vector<std::string>& parts, size_t at, std::vector<std::string>* out) {
  const std::string& part = parts[at];
  const bool is_last = at + 1 == parts.size();
  std::vector<std::string> names;
  if (part.find_first_of(std::string(kWildcards)) == std::string::npos) {
    names.push_back(part);
  } else {
    StatusOr<std::vector<std::string>> listed = files.List(directory);
    if (!listed.ok()) return OkStatus();  // nothing there, nothing matches
    for (std::string& name : *listed) {
      if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) names.push_back(std::move(name));
    }
  }
  for (const std::string& name : names) {
    const std::string path = Join(directory, name);
    if (is_last) {
      if (files.Exists(path)) out->push_back(path);
      continue;
    }
    const StatusOr<bool> is_directory = files.IsDirectory(path);
    if (is_directory.ok() && *is_directory) {
      TFLEET_RETURN_IF_ERROR(GlobBelow(files, path, parts, at + 1, out));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<ResolvedPath> ResolvePath(absl::string_view path) {
  if (path.find('\0') != absl::string_view::npos) {
    return InvalidArgument("a path must not hold a zero byte: ", path.substr(0, path.find('\0')));
  }
  const size_t colon = path.find("://");
  if (colon == absl::string_view::npos) return ResolvedPath{FileSystem::Local(), std::string(path)};
  const absl::string_view scheme = path.substr(0, colon);
  if (scheme == "file")
    return ResolvedPath{FileSystem::Local(), std::string(path.substr(colon + 3))};
  if (scheme == "s3") return ResolvedPath{DefaultS3FileSystem(), std::string(path)};
  if (scheme == "gs") return ResolvedPath{DefaultGsFileSystem(), std::string(path)};
  if (scheme == "hdfs" || scheme == "webhdfs" || scheme == "swebhdfs") {
    return ResolvedPath{DefaultHdfsFileSystem(), std::string(path)};
  }
  if (scheme == "http" || scheme == "https")
    return ResolvedPath{WebFileSystem(), std::string(path)};
  return Unimplemented("File system scheme '", scheme, "' not implemented (file: '", path, "')");
}

StatusOr<std::vector<std::string>> Glob(FileSystem& files, const std::string& pattern) {
  std::vector<std::string> found;
  if (pattern.empty()) return found;
  if (!files.has_lists()) {
    if (files.Exists(pattern)) found.push_back(pattern);
    return found;
  }
  // The host or bucket, which may be empty, is no part of the pattern.
  const size_t scheme = pattern.find("://");
  size_t root_end = pattern[0] == '/' ? 1 : 0;
  if (scheme != std::string::npos) {
    const size_t slash = pattern.find('/', scheme + 3);
    root_end = slash == std::string::npos ? pattern.size() : slash + 1;
  }
  const std::string root = pattern.substr(0, root_end);
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(pattern).substr(root_end), '/', absl::SkipEmpty());
  if (parts.empty()) return std::vector<std::string>{root};
  TFLEET_RETURN_IF_ERROR(GlobBelow(files, root, parts, 0, &found));
  std::sort(found.begin(), found.end());
  return found;
}

StatusOr<std::string> ReadWholeFile(FileSystem& files, const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files.Open(path));
  std::string contents(file->size(), '\0');
  TFLEET_RETURN_IF_ERROR(file->Read(0, contents.size(), contents.data()));
  return contents;
}

Status WriteWholeFile(FileSystem& files, const std::string& path, absl::string_view contents) {
  const std::string temporary = TemporaryPath(path);
  Status status = [&]() -> Status {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.Create(temporary));
    TFLEET_RETURN_IF_ERROR(file->Append(contents));
    TFLEET_RETURN_IF_ERROR(file->Sync());
    TFLEET_RETURN_IF_ERROR(file->Close());
    TFLEET_RETURN_IF_ERROR(files.Rename(temporary, path));
    return files.SyncDir(DirectoryOf(path));
  }();
  if (!status.ok()) files.Delete(temporary).IgnoreError();
  return status;
}

std::string DirectoryOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return "";
  return std::string(slash == 0 ? path.substr(0, 1) : path.substr(0, slash));
}

std::string TemporaryPath(absl::string_view path) {
  return absl::StrCat(path, kTemporary, RandomNonZero64());
}

bool IsTemporaryPath(absl::string_view path) { return absl::StrContains(path, kTemporary); }

}  // namespace tensorfleet
