// Drawing numbers of one output by rejection, number for number as TensorFlow does: each output has
// a stretch of the sequence of its own, from which uniform and normal numbers are taken as they are
// needed, the last of each block first.
#pragma once

#include "runtime/kernels/cpu/random/random_fill.h"
#include "runtime/kernels/philox.h"

namespace tensorfleet::cpu {

// T is float or double.
template <typename T>
class Draws {
 public:
  explicit Draws(Philox from) : philox_(from) {}
  // In [0, 1).
  T Uniform() {
    if (uniforms_left_ == 0) {
      const Philox::Block words = philox_.Next();
      for (int i = 0; i < kPerBlock; ++i) uniforms_[i] = Unit(words, i);
      uniforms_left_ = kPerBlock;
    }
    return uniforms_[--uniforms_left_];
  }
  T Normal() {
    if (normals_left_ == 0) {
      const Philox::Block words = philox_.Next();
      for (int i = 0; i < kPerBlock; i += 2)
        NormalPair(words.data() + i * 4 / kPerBlock, normals_ + i);
      normals_left_ = kPerBlock;
    }
    return normals_[--normals_left_];
  }

 private:
  static constexpr int kPerBlock = sizeof(T) == 8 ? 2 : 4;
  static T Unit(const Philox::Block& words, int i) {
    if constexpr (sizeof(T) == 8) {
      return UnitDouble(words[2 * i], words[2 * i + 1]);
    } else {
      return UnitFloat(words[i]);
    }
  }
  Philox philox_;
  T uniforms_[kPerBlock], normals_[kPerBlock];
  int uniforms_left_ = 0, normals_left_ = 0;
};

}  // namespace tensorfleet::cpu
