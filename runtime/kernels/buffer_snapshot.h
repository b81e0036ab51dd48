// A variable's value as it was at one moment, to be read over seconds while rows of the variable go
// on being overwritten in place. Whoever is about to overwrite rows asks MayOverwrite, which copies
// aside only the pages among them that the snapshot has not read yet: a save of a big table never
// makes an update copy the table.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "runtime/kernels/row_indices.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

struct SnapshotState;

// Next is for one thread; MayOverwrite may run at the same time on others.
class BufferSnapshot {
 public:
  // `value` is plain data of at least one byte, and the only handle that the caller has.
  explicit BufferSnapshot(Tensor value);
  ~BufferSnapshot();
  BufferSnapshot(const BufferSnapshot&) = delete;
  BufferSnapshot& operator=(const BufferSnapshot&) = delete;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  // The next bytes of the value, in order; empty at the end. Valid until the next call.
  absl::string_view Next();

  // For the holder of the lock of a variable whose value is `value`: true when everybody else who
  // holds its buffer is a snapshot, and the rows, `row_bytes` each, may be overwritten now. False
  // changes nothing.
  static bool MayOverwrite(const Tensor& value, const RowIndices& rows, int64_t row_bytes);

 private:
  const DType dtype_;
  const Shape shape_;
  const std::shared_ptr<SnapshotState> state_;
  std::unique_ptr<char[]> scratch_;
};

}  // namespace tensorfleet
