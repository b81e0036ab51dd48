// Tensors in the files of a checkpoint, whichever kind of checkpoint it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/io/file_system.h"
#include "runtime/io/tensor_slice.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// Thread-safe.
class SavedTensors {
 public:
  virtual ~SavedTensors() = default;

  struct Info {
    DType dtype = DType::kInvalid;
    Shape shape;  // of the whole tensor
  };
  // Errors: NotFound `Key NAME not found in checkpoint`.
  virtual StatusOr<Info> Describe(const std::string& name) const = 0;
  // All tensors, sorted by name; pieces are not listed.
  virtual StatusOr<std::vector<std::string>> Names() const = 0;

  // The whole tensor, put together when it is stored in pieces.
  // Errors: NotFound; DataLoss when a checksum does not match; InvalidArgument when pieces are
  // missing.
  virtual StatusOr<Tensor> Read(const std::string& name) const = 0;
  // A piece, whichever way the tensor is stored; `slice` is resolved.
  virtual StatusOr<Tensor> ReadSlice(const std::string& name, const TensorSlice& slice) const = 0;
};

// The checkpoint with prefix `prefix`, or the V1 checkpoint whose file is, or whose files match,
// `prefix`. Errors: NotFound `Unsuccessful TensorSliceReader constructor: Failed to find any
// matching files for PREFIX`; those of either reader's Open.
StatusOr<std::unique_ptr<SavedTensors>> OpenSavedTensors(FileSystem* files,
                                                         const std::string& prefix);

}  // namespace tensorfleet
