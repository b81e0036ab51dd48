#include "runtime/opfuzz/report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "absl/strings/ascii.h"

namespace tensorfleet::opfuzz {
namespace {

int Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<int>(100 * part / whole);
}

// Executions of an op from which on a share of them means something.
constexpr uint64_t kEnough = 200;

// Refused by name, when its graph is added.
bool NeverRuns(const std::string& op) { return op == "RemoteCall"; }

int ReportNotes(const ReportInput& input, const Scoreboard& board) {
  std::map<std::string, std::pair<int, const Note*>> kinds;
  const int notes = std::min<int>(board.num_notes, kMaxNotes);
  for (int i = 0; i < notes; ++i) {
    if (!board.notes[i].is_set) continue;
    auto& [count, first] = kinds[WithoutValues(board.notes[i].text)];
    if (count++ == 0) first = &board.notes[i];
  }
  for (const auto& [_, kind] : kinds) {
    std::printf("WRONG %d times, first in %s%llu (step %d): %s\n", kind.first, input.replay.c_str(),
                static_cast<unsigned long long>(kind.second->number), kind.second->step,
                kind.second->text);
  }
  return static_cast<int>(kinds.size());
}

}  // namespace

std::string WithoutValues(const std::string& text) {
  std::string kept;
  int depth = 0;
  // The place comes first, in a line of its own.
  const size_t place = text.find("From /job:");
  const size_t line = place == std::string::npos ? place : text.find('\n', place);
  for (const char c :
       line == std::string::npos ? text : text.substr(0, place) + text.substr(line + 1)) {
    if (c == '[' || c == '(') ++depth;
    if (depth == 0 && !absl::ascii_isdigit(c)) kept.push_back(c);
    if ((c == ']' || c == ')') && depth > 0) --depth;
  }
  return kept;
}

int Report(const ReportInput& input, const Scoreboard& board,
           const std::vector<Finding>& findings) {
  uint64_t executions = 0, reached = 0, succeeded = 0;
  int below = 0, ops = 0;
  for (size_t i = 0; i < input.ops.size(); ++i) {
    const OpCount& count = board.ops[i];
    const uint64_t all = count.executions;
    executions += all;
    reached += count.reached;
    succeeded += count.succeeded;
    if (all == 0) continue;
    ++ops;
    const bool is_below = all >= kEnough && 2 * count.reached < all && i + 1 < input.ops.size() &&
                          !NeverRuns(input.ops[i]);
    below += is_below ? 1 : 0;
    if (!input.whole_table && !is_below) continue;
    std::printf("%-45s %8llu executions, %3d %% reached the kernel, %3d %% succeeded%s\n",
                input.ops[i].c_str(), static_cast<unsigned long long>(all),
                Percent(count.reached, all), Percent(count.succeeded, all),
                is_below ? "  BELOW HALF" : "");
  }
  const int wrong = ReportNotes(input, board);
  std::printf(
      "op fuzzer: %llu executions of %d ops in %.0f s (%.0f %% reached the kernel, %.0f %% "
      "succeeded), %d ops below half, "
      "%d kinds of wrong answers, %zu crashes, hangs or excesses\n",
      static_cast<unsigned long long>(executions), ops, input.seconds,
      100.0 * reached / std::max<uint64_t>(1, executions),
      100.0 * succeeded / std::max<uint64_t>(1, executions), below, wrong, findings.size());
  return static_cast<int>(findings.size()) + wrong + below;
}

}  // namespace tensorfleet::opfuzz
