// Saves and restores through the Saver nodes of a graph, and keeps the directory in order: the
// files "model.ckpt-STEP.*", a ".meta" beside each, and the state file "checkpoint". A checkpoint
// is in the state file only when all of it is on the disk. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proto/checkpoint.pb.h"
#include "proto/tensorfleet/checkpoint_part.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/client/session.h"
#include "runtime/io/file_system.h"
#include "runtime/train/checkpoint/checkpoint_state.h"

namespace tensorfleet::train {

struct SaverOptions {
  std::string directory;
  std::string basename = "model.ckpt";
  int max_to_keep = 5;            // older ones are deleted; 0: none is
  double keep_every_n_hours = 0;  // one of so many hours is kept for good; 0: none
  std::string meta_graph;         // a serialised MetaGraphDef; "": no ".meta" files
  const Clock* clock = Clock::Real();
};

class Saver {
 public:
  // Takes over the list of the checkpoints that are there. Errors: as ReadCheckpointList; those of
  // making the directory.
  static StatusOr<Saver> Open(tensorflow::SaverDef def, SaverOptions options);

  // Writes a checkpoint for this step and deletes what is too old. Returns its prefix.
  StatusOr<std::string> Save(Session& session, int64_t step);

  // The same of parts that tasks have written and told of (SaveGraph). Errors: Internal for parts
  // that are not at `stem`.
  StatusOr<std::string> Merge(const std::string& stem, const std::vector<CheckpointPart>& parts,
                              int64_t step);

  // Deletes the parts, shards and temporary files that there are, while no save runs. Open has done
  // so once, but a server that was held up may write later for a chief that is no more.
  void DeleteLeftovers() const;

  // The latest checkpoint's prefix, written by this process or before it.
  std::optional<std::string> latest() const;

 private:
  Saver(tensorflow::SaverDef def, SaverOptions options, CheckpointList list)
      : def_(std::move(def)), options_(std::move(options)), list_(std::move(list)) {}
  std::string PrefixOf(int64_t step) const;
  // Takes up what has been written.
  StatusOr<std::string> Publish(int64_t step);
  Status WriteMetaGraph(FileSystem& files, const std::string& path);
  std::vector<std::string> DropOld();

  tensorflow::SaverDef def_;
  SaverOptions options_;
  CheckpointList list_;
  std::string meta_path_;  // the last ".meta" that was written; "": none
  double started_at_ = 0;
};

// For parts of checkpoints of this directory, written on behalf of one process: what their paths
// begin with.
std::string NewStemForParts(const std::string& directory,
                            const std::string& basename = SaverOptions().basename);
// Deletes those that there are. What cannot be deleted is worth a line, not the training.
void DeleteParts(const std::string& stem);

// Runs the restore op, or only these nodes of it. Errors: what the server says; DataLoss and
// NotFound of the files.
Status Restore(const tensorflow::SaverDef& def, const std::string& prefix,
               const std::vector<std::string>& only, Session& session);

}  // namespace tensorfleet::train
