// Random shapes and tensors: small ones that inputs of an op could have together, and hostile ones.
#pragma once

#include "runtime/opfuzz/random.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::opfuzz {

// A shape of at most some hundred elements. Usual: ranks 0 to 4, few zeros. Hostile: ranks 0 to 8,
// zeros beside dimensions up to 2^62.
Shape RandomShape(Random& random, Manner manner);

// Shapes that belong together: most are the same, or one apart.
class ShapeFamily {
 public:
  explicit ShapeFamily(Random& random);
  Shape Next(Random& random) const;

 private:
  Shape base_;
};

// Elements for `shape`. Usual integers are small and often sorted, or a permutation; hostile ones
// are at the ends of their type, and hostile floats are NaN, infinite or denormal. Resource and
// variant elements are empty.
Tensor RandomTensor(Random& random, DType dtype, const Shape& shape, Manner manner);

// An integer as attributes and hostile tensors hold them: near zero, near a power of two, or any.
int64_t HostileInt(Random& random);

}  // namespace tensorfleet::opfuzz
