#include "runtime/io/io_interest.h"

#include <utility>

#include "runtime/base/mutex.h"

namespace tensorfleet {
namespace {

thread_local CancellationManager* current = nullptr;

}  // namespace

ScopedIoInterest::ScopedIoInterest(CancellationManager* cancellation)
    : before_(std::exchange(current, cancellation)) {}

ScopedIoInterest::~ScopedIoInterest() { current = before_; }

Status IoInterest() {
  return current != nullptr && current->is_cancelled() ? current->status() : OkStatus();
}

Status PauseIo(std::chrono::milliseconds pause) {
  Notification cancelled;
  CancellationManager::Token token = -1;
  if (current != nullptr) {
    token = current->Register([&cancelled] { cancelled.Notify(); });
    if (token < 0) return current->status();
  }
  cancelled.WaitFor(pause);
  if (token >= 0) current->Deregister(token);
  return IoInterest();
}

}  // namespace tensorfleet
