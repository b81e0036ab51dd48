#include "runtime/io/saved_tensors.h"

#include "runtime/io/checkpoint_reader.h"
#include "runtime/io/v1_checkpoint_reader.h"

namespace tensorfleet {

StatusOr<std::unique_ptr<SavedTensors>> OpenSavedTensors(FileSystem* files,
                                                         const std::string& prefix) {
  StatusOr<std::unique_ptr<CheckpointReader>> reader = CheckpointReader::Open(files, prefix);
  if (absl::IsNotFound(reader.status())) return V1CheckpointReader::Open(files, prefix);
  TFLEET_RETURN_IF_ERROR(reader.status());
  return std::unique_ptr<SavedTensors>(*std::move(reader));
}

}  // namespace tensorfleet
