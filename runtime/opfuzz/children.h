// The processes in which cases run, so that a crash is a finding and not the end. Each takes the
// next number until there are no more; one that dies, hangs or grows is replaced.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/opfuzz/scoreboard.h"

namespace tensorfleet::opfuzz {

struct Finding {
  uint64_t number = 0;
  int step = 0;      // -1: while the session was opened
  std::string what;  // "signal 11", "no answer for 20 s", ...
  std::string log;   // the end of what it said
};

struct ChildLimits {
  int count = 2;
  int64_t address_space = 0;  // bytes, by setrlimit; 0: no limit
  int64_t resident = 0;       // bytes; one that grows beyond is a finding; 0: no limit
  int64_t silent_millis = 20'000;
  std::string scratch;  // a folder: where they live
};

// Runs `work(child)` in each child until `over()` in the parent or all have returned. The caller
// must be single-threaded. `find` is called for each finding, in the parent.
void RunChildren(const ChildLimits& limits, Scoreboard* board,
                 const std::function<void(int child)>& work, const std::function<bool()>& over,
                 const std::function<void(const Finding&)>& find);

int64_t NowMillis();

}  // namespace tensorfleet::opfuzz
