// A number that training depends on (a learning rate, a decay): fixed, or a tensor that changes
// with the step (schedules.h) or is fed.
#pragma once

#include "runtime/client/term.h"

namespace tensorfleet::train {

class Hyper {
 public:
  Hyper(double value) : value_(value) {}
  Hyper(const Output& tensor) : tensor_(tensor) {}
  bool is_tensor() const { return tensor_.is_valid(); }
  double value() const { return value_; }
  // As a scalar of this type.
  Output As(const Scope& scope, DType dtype) const;

 private:
  double value_ = 0;
  Output tensor_;
};

}  // namespace tensorfleet::train
