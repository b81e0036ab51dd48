// Moving averages of variables, which often predict better than the variables themselves.
#pragma once

#include <vector>

#include "runtime/train/model/variables.h"
#include "runtime/train/optimizer/hyper.h"

namespace tensorfleet::train {

class ExponentialMovingAverage {
 public:
  // average = decay * average + (1 - decay) * variable, once per Apply. With `steps` (a scalar that
  // counts), the decay is at most (1 + steps) / (10 + steps), so that averages move early on.
  explicit ExponentialMovingAverage(double decay, const Output& steps = {},
                                    std::string name = "ExponentialMovingAverage")
      : decay_(decay), steps_(steps), name_(std::move(name)) {}

  // An op that updates the averages; run it after the variables' update. The averages are global
  // variables "w/ExponentialMovingAverage", which begin with the variables' initial values.
  Operation Apply(const Scope& scope, absl::Span<const Variable> averaged, Variables& variables);
  // The average of a variable that Apply was given; not valid for others.
  Variable Average(const Variable& variable) const;

 private:
  const double decay_;
  const Output steps_;
  const std::string name_;
  std::vector<std::pair<std::string, Variable>> averages_;  // by the variable's name
};

}  // namespace tensorfleet::train
