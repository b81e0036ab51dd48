// The order in which a queue gives out what it holds. Not thread-safe: the queue holds its lock.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace tensorfleet::portable {

// One element: a tensor per component.
using QueueTuple = std::vector<Tensor>;

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual int64_t size() const = 0;
  virtual void Push(QueueTuple element) = 0;
  // Only when size() > 0.
  virtual QueueTuple Pop() = 0;
  // Undoes a Pop; several are undone last first.
  virtual void PutBack(QueueTuple element) = 0;
};

// First in, first out.
std::unique_ptr<QueueStore> MakeFifoStore();
// By the first component, an int64 scalar, lowest first; equal ones first in, first out.
std::unique_ptr<QueueStore> MakePriorityStore();
// Any element with equal chance. The sequence is TensorFlow's for the same seeds; both 0: a random
// one.
std::unique_ptr<QueueStore> MakeShuffleStore(int64_t seed, int64_t seed2);

}  // namespace tensorfleet::portable
