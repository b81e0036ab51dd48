// Spreads variables over parameter servers, as tf.compat.v1.train.replica_device_setter does:
//
//   ReplicaDeviceSetter setter({.ps_tasks = 2});
//   Variables variables({.device = setter.ForVariables()});
//   const Scope worker = root.OnDevice("/job:worker/task:0");   // everything else
//
// Graphs that make the same variables in the same order agree on where they are.
#pragma once

#include <string>
#include <vector>

#include "runtime/train/model/variables.h"

namespace tensorfleet::train {

class ReplicaDeviceSetter {
 public:
  enum class Strategy {
    kRoundRobin,  // each variable goes to the next task
    kByBytes,     // each goes to the task that has the fewest bytes so far
  };
  struct Options {
    int ps_tasks = 0;  // 0: variables are left to the scope they are made in
    std::string ps_job = "ps";
    Strategy strategy = Strategy::kRoundRobin;
  };
  explicit ReplicaDeviceSetter(Options options);

  // The device of the next variable. Not thread-safe.
  std::string Next(const Shape& shape, DType dtype);
  // For Variables::Options; the setter must outlive the variables' making.
  Variables::DeviceFunction ForVariables();

 private:
  const Options options_;
  int next_ = 0;
  std::vector<int64_t> bytes_;  // by task
};

}  // namespace tensorfleet::train
