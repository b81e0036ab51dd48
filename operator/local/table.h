// A run as a person reads it: a table of its replicas, how a number has grown as a curve, and a
// summary at the end. Text only; where it goes is the console's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tensorfleet::local {

struct ReplicaRow {
  std::string name;   // worker-0
  std::string state;  // Running
  std::optional<int64_t> step;
  std::optional<double> steps_per_second;
  std::optional<double> loss;
  int restarts = 0;
  std::optional<int> exit_code;  // of its last run, when that has ended
};

struct JobView {
  std::string name;
  std::string state;     // Running
  std::string reason;    // why it has failed
  std::string elapsed;   // 0:07
  int64_t restarts = 0;  // by replacement
  std::vector<ReplicaRow> replicas;
  // What the evaluator, else the chief, has said of the accuracy.
  std::vector<double> accuracy;
};

// One character a value, from the lowest to the highest; at most `width`, then each is the mean of
// several. Empty for fewer than two values.
std::string Curve(const std::vector<double>& values, size_t width);

// Lines without newlines. A job of more than `max_rows` replicas has a line a type in their place.
std::vector<std::string> TableOf(const JobView& job, size_t max_rows);

// At most ten lines: how it ended, its replicas, its accuracy, and where to look next.
// `log_folder` holds a file a replica.
std::vector<std::string> SummaryOf(const JobView& job, const std::string& log_folder);

// The first `width` characters of UTF-8 text.
absl::string_view FirstCharacters(absl::string_view text, size_t width);

}  // namespace tensorfleet::local
