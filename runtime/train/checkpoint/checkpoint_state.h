// The file "checkpoint" of a directory: which checkpoints there are and which is the latest. Text
// form of tensorflow.CheckpointState, as TensorFlow reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/io/file_system.h"

namespace tensorfleet::train {

struct KeptCheckpoint {
  std::string prefix;   // with the directory: "/tmp/model/model.ckpt-100"
  double saved_at = 0;  // seconds since 1970
};

struct CheckpointList {
  std::vector<KeptCheckpoint> kept;  // oldest first; the last is the latest
  double last_preserved_at = 0;      // when one was last kept for good; 0: never
};

// Empty when the directory has no such file. Errors: InvalidArgument for a file that cannot be
// parsed; what the file system says.
StatusOr<CheckpointList> ReadCheckpointList(const std::string& directory);
// Names inside the directory are written without it, so that the directory can be moved.
Status WriteCheckpointList(const std::string& directory, const CheckpointList& list);

// The latest checkpoint whose index file is there; none when the directory has none. Errors: as
// ReadCheckpointList.
StatusOr<std::optional<std::string>> LatestCheckpoint(const std::string& directory);

// 100 of "model.ckpt-100"; -1 when the prefix ends in no number.
int64_t StepOfCheckpoint(absl::string_view prefix);

// "a/b" of "a" and "b"; `b` when it is absolute or has a scheme.
std::string JoinPath(absl::string_view directory, absl::string_view name);

}  // namespace tensorfleet::train
