#include "runtime/train/checkpoint/checkpoint_state.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "proto/checkpoint.pb.h"

namespace tensorfleet::train {
namespace {

constexpr char kStateFile[] = "checkpoint";

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int, const std::string& message) override {
    if (what.empty()) what = absl::StrCat("line ", line + 1, ": ", message);
  }
  std::string what;
};

std::string Inside(absl::string_view directory, absl::string_view path) {
  if (absl::ConsumePrefix(&path, directory)) absl::ConsumePrefix(&path, "/");
  return std::string(path);
}

}  // namespace

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty() || absl::StartsWith(name, "/") || absl::StrContains(name, "://")) {
    return std::string(name);
  }
  return absl::StrCat(absl::StripSuffix(directory, "/"), "/", name);
}

StatusOr<CheckpointList> ReadCheckpointList(const std::string& directory) {
  CheckpointList list;
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(JoinPath(directory, kStateFile)));
  const StatusOr<std::string> text = ReadWholeFile(*at.file_system, at.path);
  if (absl::IsNotFound(text.status())) return list;
  TFLEET_RETURN_IF_ERROR(text.status());
  tensorflow::CheckpointState state;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(*text, &state)) {
    return InvalidArgument(at.path, " is no CheckpointState in text form: ", error.what);
  }
  for (int i = 0; i < state.all_model_checkpoint_paths_size(); ++i) {
    const double saved_at = i < state.all_model_checkpoint_timestamps_size()
                                ? state.all_model_checkpoint_timestamps(i)
                                : 0;
    list.kept.push_back({JoinPath(directory, state.all_model_checkpoint_paths(i)), saved_at});
  }
  // The latest is normally the last of the list; people edit the file to go back.
  const std::string latest = JoinPath(directory, state.model_checkpoint_path());
  if (!state.model_checkpoint_path().empty() &&
      (list.kept.empty() || list.kept.back().prefix != latest)) {
    list.kept.push_back({latest, 0});
  }
  list.last_preserved_at = state.last_preserved_timestamp();
  return list;
}

Status WriteCheckpointList(const std::string& directory, const CheckpointList& list) {
  tensorflow::CheckpointState state;
  for (const KeptCheckpoint& checkpoint : list.kept) {
    state.add_all_model_checkpoint_paths(Inside(directory, checkpoint.prefix));
    state.add_all_model_checkpoint_timestamps(checkpoint.saved_at);
  }
  if (!list.kept.empty()) {
    state.set_model_checkpoint_path(Inside(directory, list.kept.back().prefix));
  }
  if (list.last_preserved_at > 0) state.set_last_preserved_timestamp(list.last_preserved_at);
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(state, &text)) {
    return Internal("the checkpoint state cannot be written as text");
  }
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(JoinPath(directory, kStateFile)));
  return WriteWholeFile(*at.file_system, at.path, text);
}

StatusOr<std::optional<std::string>> LatestCheckpoint(const std::string& directory) {
  TFLEET_ASSIGN_OR_RETURN(const CheckpointList list, ReadCheckpointList(directory));
  for (auto it = list.kept.rbegin(); it != list.kept.rend(); ++it) {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(it->prefix));
    if (at.file_system->Exists(absl::StrCat(at.path, ".index"))) return {it->prefix};
  }
  return {std::nullopt};
}

int64_t StepOfCheckpoint(absl::string_view prefix) {
  const size_t dash = prefix.rfind('-');
  int64_t step = -1;
  if (dash == absl::string_view::npos || !absl::SimpleAtoi(prefix.substr(dash + 1), &step)) {
    return -1;
  }
  return step;
}

}  // namespace tensorfleet::train
