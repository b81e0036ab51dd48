// A save between its two halves: its values are fixed, their bytes have yet to be written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/io/checkpoint_writer.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet::portable {

class FrozenValue;

class SaveJob {
 public:
  // The inputs are those of SaveV2. What is saved stays as it is now, however its variables go on:
  // of a big value, whoever overwrites rows copies them first. Errors: InvalidArgument for inputs
  // that do not fit together; those of ResolvePath.
  static StatusOr<std::unique_ptr<SaveJob>> Freeze(KernelContext& ctx);
  ~SaveJob();

  // Writes a checkpoint, or a part of one whose name is the prefix and `suffix`; blocks. To be
  // called once: each value is let go when it is written. `cancellation` may be null. Errors: those
  // of CheckpointWriter; why it was cancelled.
  Status Write(CancellationManager* cancellation);
  StatusOr<CheckpointPart> WritePart(const std::string& suffix, CancellationManager* cancellation);

  // Whether writing takes so long that it should yield to the steps of others, though somebody may
  // be waiting for it.
  bool is_long() const;
  // Whether Write takes locks that updates of the variables take.
  bool has_snapshots() const;

 private:
  SaveJob(FileSystem* files, std::string prefix, Tensor names, Tensor shapes_and_slices);

  Status WriteValues(CheckpointWriter& writer, CancellationManager* cancellation);

  FileSystem* const files_;
  const std::string prefix_;
  const Tensor names_, shapes_and_slices_;
  std::vector<std::unique_ptr<FrozenValue>> values_;
};

}  // namespace tensorfleet::portable
