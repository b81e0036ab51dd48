// How far a replica is: from the file that it may write, and from what it prints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tensorfleet::local {

// Names the file in the environment of each process. It holds one JSON object in the form of the
// annotation tensorfleet.dev/progress: {"step": 1200, "checkpoint": "/ckpt/model-1000"}.
inline constexpr char kProgressFileVariable[] = "TENSORFLEET_PROGRESS_FILE";

class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Progress(std::string file) : file_(std::move(file)) {}

  // Looks for "step 12", "step=12", "global_step: 12", "loss = 0.5", "accuracy=0.9" and the like.
  void OnLine(absl::string_view line, Time now);
  // Reads the file again.
  void Refresh();

  // What the annotation would hold; empty when nothing is known.
  std::string Annotation() const;
  std::optional<int64_t> step() const { return step_; }
  std::optional<double> loss() const { return loss_; }
  std::optional<double> steps_per_second() const { return rate_; }
  // All that was said, oldest first; of more than a thousand, every other one of the older half.
  const std::vector<double>& accuracy() const { return accuracy_; }

 private:
  void Keep(double accuracy);

  const std::string file_;
  std::string from_file_;
  std::optional<int64_t> step_;
  std::optional<double> loss_;
  std::optional<double> rate_;
  std::vector<double> accuracy_;
  std::optional<std::pair<Time, int64_t>> rate_since_;
};

}  // namespace tensorfleet::local
