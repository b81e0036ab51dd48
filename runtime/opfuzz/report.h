// What a run of the fuzzer has to say at its end.
#pragma once

#include <string>
#include <vector>

#include "runtime/opfuzz/children.h"

namespace tensorfleet::opfuzz {

struct ReportInput {
  std::vector<std::string> ops;  // by their place on the board
  std::string replay;            // the command that runs one case again, up to its number
  double seconds = 0;
  bool whole_table = false;
};

// A message without numbers, shapes and other values: by which such are counted together.
std::string WithoutValues(const std::string& text);

// Prints the table of ops, those whose kernels less than half of the executions reached, faults
// that ended nothing, and a last line with the totals. Gives the number of findings, ops below half
// included.
int Report(const ReportInput& input, const Scoreboard& board, const std::vector<Finding>& findings);

}  // namespace tensorfleet::opfuzz
