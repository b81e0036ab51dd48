// Compiled programs in a folder, so that a server that starts anew has not to compile again what
// its predecessor did. What is in there is executed: a folder that others can write to is refused,
// and so is a file that is not whole. Several processes may share a folder. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace tensorfleet::pjrt {

class CompileCache {
 public:
  static constexpr int64_t kDefaultBytes = int64_t{2} << 30;
  // Larger programs are not kept: more than Find would read.
  static constexpr size_t kMaxProgramBytes = size_t{63} << 20;

  // Makes the folder when it is not there. Errors: FailedPrecondition when it is no folder, belongs
  // to another user, or others can write to it; what the system says.
  static StatusOr<std::unique_ptr<CompileCache>> Open(const std::string& folder,
                                                      int64_t max_bytes = kDefaultBytes);

  // What was kept under `key`, of any length; nothing when it is not there or damaged (then it is
  // removed, with a warning).
  std::optional<std::string> Find(absl::string_view key) const;
  // Whole or not at all, also when the process ends in between. Of what the folder then holds
  // beyond its bound the files that were used longest ago go. A failure is a warning: programs then
  // are compiled again.
  void Keep(absl::string_view key, absl::string_view program) const;
  // What Find gave is of no use.
  void Drop(absl::string_view key) const;

 private:
  CompileCache(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  std::string PathOf(absl::string_view key) const;
  void RemoveOldest() const;

  const std::string folder_;
  const int64_t max_bytes_;
  mutable Mutex mu_;  // one thread at a time looks for what is oldest
};

}  // namespace tensorfleet::pjrt
