#include "runtime/train/checkpoint/saver.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/random_id.h"
#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/io/file_system.h"
#include "runtime/train/job/train_graph.h"

namespace tensorfleet::train {
namespace {

// What is gone already is fine; what cannot be deleted is worth a line, not the training.
void DeleteOld(FileSystem& files, const std::string& path) {
  const Status status = files.Delete(path);
  if (!status.ok() && !absl::IsNotFound(status)) {
    LogWarning("An old checkpoint's file was not deleted", {{"why", status.message()}});
  }
}

void DeleteCheckpoint(const std::string& prefix) {
  const StatusOr<ResolvedPath> at = ResolvePath(prefix);
  if (!at.ok()) return;
  FileSystem& files = *at->file_system;
  // The index first: without it, the rest is no checkpoint.
  std::vector<std::string> paths = {absl::StrCat(at->path, ".index")};
  const StatusOr<std::vector<std::string>> data =
      Glob(files, absl::StrCat(at->path,
                               ".data-[0-9][0-9][0-9][0-9][0-9]-of-"
                               "[0-9][0-9][0-9][0-9][0-9]"));
  if (data.ok()) paths.insert(paths.end(), data->begin(), data->end());
  paths.push_back(absl::StrCat(at->path, ".meta"));
  for (const std::string& path : paths) DeleteOld(files, path);
}

Status NotShared(const std::string& prefix) {
  return FailedPrecondition(
      "the servers wrote the checkpoint ", prefix,
      ", but this task does not see it: the checkpoint directory must be on a file system that "
      "the parameter servers and the chief share");
}

constexpr char kSaving[] = ".saving-";
constexpr char kShards[] = "_temp";  // where AddSaver's nodes, and TensorFlow's, write shards

void DeleteShards(FileSystem& files, const std::string& directory) {
  const StatusOr<std::vector<std::string>> names = files.List(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) DeleteOld(files, JoinPath(directory, name));
  files.DeleteDir(directory).IgnoreError();
}

}  // namespace

StatusOr<Saver> Saver::Open(tensorflow::SaverDef def, SaverOptions options) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(options.directory));
  TFLEET_RETURN_IF_ERROR(at.file_system->CreateDirs(at.path));
  TFLEET_ASSIGN_OR_RETURN(CheckpointList list, ReadCheckpointList(options.directory));
  // What has vanished since is not there to be kept.
  list.kept.erase(std::remove_if(list.kept.begin(), list.kept.end(),
                                 [](const KeptCheckpoint& kept) {
                                   const StatusOr<ResolvedPath> at = ResolvePath(kept.prefix);
                                   return !at.ok() || !at->file_system->Exists(
                                                          absl::StrCat(at->path, ".index"));
                                 }),
                  list.kept.end());
  Saver saver(std::move(def), std::move(options), std::move(list));
  saver.DeleteLeftovers();
  saver.started_at_ = static_cast<double>(saver.options_.clock->NowUnixNanos()) * 1e-9;
  return saver;
}

void Saver::DeleteLeftovers() const {
  const StatusOr<ResolvedPath> at = ResolvePath(options_.directory);
  if (!at.ok()) return;
  const StatusOr<std::vector<std::string>> names = at->file_system->List(at->path);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const bool is_part = absl::StartsWith(name, absl::StrCat(kSaving, options_.basename, "-"));
    const bool is_ours = absl::StartsWith(name, absl::StrCat(options_.basename, "-")) ||
                         absl::StartsWith(name, "checkpoint.");
    const std::string path = JoinPath(at->path, name);
    if (is_part || (is_ours && IsTemporaryPath(name))) {
      DeleteOld(*at->file_system, path);
    } else if (is_ours && absl::EndsWith(name, kShards)) {
      DeleteShards(*at->file_system, path);
    }
  }
}

std::optional<std::string> Saver::latest() const {
  if (list_.kept.empty()) return std::nullopt;
  return list_.kept.back().prefix;
}

std::vector<std::string> Saver::DropOld() {
  std::vector<std::string> dropped;
  if (options_.max_to_keep <= 0) return dropped;
  while (list_.kept.size() > static_cast<size_t>(options_.max_to_keep)) {
    const KeptCheckpoint oldest = list_.kept.front();
    list_.kept.erase(list_.kept.begin());
    const double since = list_.last_preserved_at > 0 ? list_.last_preserved_at : started_at_;
    if (options_.keep_every_n_hours > 0 &&
        oldest.saved_at >= since + options_.keep_every_n_hours * 3600) {
      list_.last_preserved_at = oldest.saved_at;  // stays on the disk, leaves the list
      continue;
    }
    dropped.push_back(oldest.prefix);
  }
  return dropped;
}

std::string Saver::PrefixOf(int64_t step) const {
  return JoinPath(options_.directory, absl::StrCat(options_.basename, "-", step));
}

StatusOr<std::string> Saver::Save(Session& session, int64_t step) {
  StepRequest save;
  save.feeds.emplace_back(def_.filename_tensor_name(), Tensor::Scalar<std::string>(PrefixOf(step)));
  save.fetches.push_back(def_.save_tensor_name());
  TFLEET_RETURN_IF_ERROR(session.Run(save).status());
  return Publish(step);
}

StatusOr<std::string> Saver::Merge(const std::string& stem,
                                   const std::vector<CheckpointPart>& parts, int64_t step) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath from, ResolvePath(stem));
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath to, ResolvePath(PrefixOf(step)));
  for (const CheckpointPart& part : parts) {
    if (!absl::StartsWith(part.prefix(), from.path)) {
      return Internal("a part was to be written to ", stem, ", not to ", part.prefix());
    }
    if (!to.file_system->Exists(DataPath(part.prefix(), 0, 1))) return NotShared(part.prefix());
  }
  TFLEET_RETURN_IF_ERROR(MergeParts(*to.file_system, parts, to.path));
  return Publish(step);
}

Status Saver::WriteMetaGraph(FileSystem& files, const std::string& path) {
  if (options_.meta_graph.empty()) return OkStatus();
  // The same bytes as last time: they need not go to the disk again.
  if (meta_path_.empty() || !files.Link(meta_path_, path).ok()) {
    TFLEET_RETURN_IF_ERROR(WriteWholeFile(files, path, options_.meta_graph));
  }
  meta_path_ = path;
  return OkStatus();
}

StatusOr<std::string> Saver::Publish(int64_t step) {
  const std::string prefix = PrefixOf(step);
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(prefix));
  if (!at.file_system->Exists(IndexPath(at.path))) return NotShared(prefix);
  TFLEET_RETURN_IF_ERROR(WriteMetaGraph(*at.file_system, absl::StrCat(at.path, ".meta")));
  // The same step again replaces its entry.
  list_.kept.erase(std::remove_if(list_.kept.begin(), list_.kept.end(),
                                  [&](const KeptCheckpoint& k) { return k.prefix == prefix; }),
                   list_.kept.end());
  list_.kept.push_back({prefix, static_cast<double>(options_.clock->NowUnixNanos()) * 1e-9});
  const std::vector<std::string> dropped = DropOld();
  TFLEET_RETURN_IF_ERROR(WriteCheckpointList(options_.directory, list_));
  // Only now does nothing refer to them any more.
  for (const std::string& old : dropped) DeleteCheckpoint(old);
  return prefix;
}

std::string NewStemForParts(const std::string& directory, const std::string& basename) {
  return JoinPath(directory, absl::StrCat(kSaving, basename, "-", absl::Hex(RandomNonZero64())));
}

void DeleteParts(const std::string& stem) {
  const StatusOr<ResolvedPath> at = ResolvePath(stem);
  if (!at.ok()) return;
  const std::string directory = DirectoryOf(at->path);
  const StatusOr<std::vector<std::string>> names = at->file_system->List(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    if (absl::StartsWith(path, at->path)) DeleteOld(*at->file_system, path);
  }
}

Status Restore(const tensorflow::SaverDef& def, const std::string& prefix,
               const std::vector<std::string>& only, Session& session) {
  StepRequest restore;
  restore.feeds.emplace_back(def.filename_tensor_name(), Tensor::Scalar<std::string>(prefix));
  restore.targets = only;
  if (only.empty()) restore.targets = {def.restore_op_name()};
  const Status status = session.Run(restore).status();
  return Prefixed(absl::StrCat("restoring ", prefix, ": "), status);
}

}  // namespace tensorfleet::train
