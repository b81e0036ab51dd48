// Cases as a file, for compare.py: for each a CreateSessionRequest and the RunStepRequests that
// follow it, so that any server of the protocol can be asked the same.
#pragma once

#include <fstream>
#include <string>

#include "runtime/opfuzz/case.h"

namespace tensorfleet::opfuzz {

// A record is a letter ('C' a case's number and op as text, 'S' session, 'F' a step that fills
// state, 'R' a step to be compared), the length as eight bytes, little endian, and the message.
class CaseWriter {
 public:
  explicit CaseWriter(const std::string& path) : file_(path, std::ios::binary) {}
  void Write(const Case& made);
  bool is_good() const { return file_.good(); }

 private:
  void Record(char kind, const std::string& bytes);
  std::ofstream file_;
};

}  // namespace tensorfleet::opfuzz
