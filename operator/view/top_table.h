// A job as lines of a terminal, and numbers as people read them.
#pragma once

#include <string>
#include <vector>

#include "operator/view/job_facts.h"

namespace tensorfleet::view {

// "1.5 MB", "12 kB", "0 B": three digits at most, powers of a thousand.
std::string Bytes(double bytes);
// "3 min", "2 h", "5 d": from `from` to `to`, both RFC 3339; "" where one is no time.
std::string Between(const std::string& from, const std::string& to);
std::string Now();  // RFC 3339

// Control characters, which a terminal would obey, become "?".
std::string Plain(const std::string& text);

// Lines without newlines, tasks beyond `most_tasks` counted in one line.
std::vector<std::string> TopTable(const JobFacts& job, const std::string& now, size_t most_tasks);

}  // namespace tensorfleet::view
