// The command line of tensorfleet-run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace tensorfleet::local {

struct Flags {
  std::string file;  // "-": standard input
  std::string job;
  std::vector<std::string> overrides;
  std::map<std::string, std::string> volumes;
  std::map<std::string, std::string> variables;
  std::string runtime_binary;  // empty: the one beside this program, else that in PATH
  bool use_podman = false;
  std::string folder;         // empty: tensorfleet-run/<job>
  double restart_delay = 10;  // seconds
  std::string colour = "auto";
  bool plain = false;
  bool verbose = false;
  bool quiet = false;
};

// True when the job is to be run; else `*exit_code` is 0 (help was printed) or 2 (wrong use, said
// on standard error).
bool ParseFlags(int argc, char** argv, Flags* flags, int* exit_code);

}  // namespace tensorfleet::local
