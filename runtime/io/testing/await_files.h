// For tests that wait for what others write.
#pragma once

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "absl/functional/function_ref.h"
#include "runtime/base/check.h"

namespace tensorfleet {

// Waits until `is_so`, which is asked at once and after each change in the directory. False when it
// was not so within a minute.
inline bool AwaitFiles(const std::string& directory, absl::FunctionRef<bool()> is_so) {
  const int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  TFLEET_CHECK(changes >= 0);
  TFLEET_CHECK(inotify_add_watch(changes, directory.c_str(),
                                 IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO) >= 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  bool so = is_so();
  while (!so) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waits = {changes, POLLIN, 0};
    if (left.count() <= 0 || poll(&waits, 1, static_cast<int>(left.count())) <= 0) break;
    char events[4096];
    while (read(changes, events, sizeof(events)) > 0) {
    }
    so = is_so();
  }
  close(changes);
  return so;
}

}  // namespace tensorfleet
