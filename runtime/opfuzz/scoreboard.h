// What the children count, in memory that they share with their parent, so that it outlives them.
// Plain atomics; made once, before the first child.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tensorfleet::opfuzz {

inline constexpr int kMaxOps = 2048;
inline constexpr int kMaxChildren = 64;
inline constexpr int kMaxNotes = 4096;

struct OpCount {
  std::atomic<uint64_t> executions, reached, succeeded;
};

// Where a child is: what it was doing when it died.
struct Place {
  std::atomic<uint64_t> number;
  std::atomic<int> step;
  std::atomic<int64_t> since_millis;  // 0: between cases
};

// A fault that did not end the child.
struct Note {
  std::atomic<bool> is_set;
  uint64_t number;
  int step;
  char text[400];
};

struct Scoreboard {
  // Shared by mmap; lives for ever.
  static Scoreboard* Make();

  void AddNote(uint64_t at, int step, const std::string& text);

  std::atomic<uint64_t> next_number;
  OpCount ops[kMaxOps];  // by the op's position among all; graphs of many come last
  Place places[kMaxChildren];
  std::atomic<int> num_notes;
  Note notes[kMaxNotes];
};

}  // namespace tensorfleet::opfuzz
