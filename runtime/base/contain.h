// Where exceptions end. Libraries, containers and allocations throw; our own interfaces return a
// Status. Whoever runs code that a graph or a message decides on runs it through here.
#pragma once

#include <type_traits>
#include <utility>

#include "runtime/base/status.h"

namespace tensorfleet {

// The exception that is being handled, as a status: ResourceExhausted when memory has run out or a
// size was asked for that no memory could have, the cancellation's own for CancelledLoop, else
// Internal with its text. Only within a catch block.
Status StatusOfException() noexcept;

// What `work` returns (a Status, a StatusOr, or nothing), or what it threw.
template <typename Work>
auto Contained(Work&& work) noexcept {
  using Result = decltype(std::forward<Work>(work)());
  using Returned = std::conditional_t<std::is_void_v<Result>, Status, Result>;
  try {
    if constexpr (std::is_void_v<Result>) {
      std::forward<Work>(work)();
      return OkStatus();
    } else {
      return Returned(std::forward<Work>(work)());
    }
  } catch (...) {
    return Returned(StatusOfException());
  }
}

}  // namespace tensorfleet
