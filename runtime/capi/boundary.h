// What every function of the C interface goes through: exceptions end here, and what came of the
// call goes into the caller's TF_Status, which may be NULL.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/contain.h"
#include "runtime/base/status.h"
#include "tensorflow/c/c_api.h"

struct TF_Status {
  tensorfleet::Status status;
  std::string message;  // with a zero byte at its end, which absl's views lack
};

namespace tensorfleet::capi {

void SetStatus(TF_Status* out, const Status& status) noexcept;

// Runs `work`, which returns a Status or nothing.
template <typename Work>
void Enter(TF_Status* out, Work&& work) noexcept {
  SetStatus(out, Contained(std::forward<Work>(work)));
}

// Runs `work`, which returns a StatusOr<T>; the value, or `otherwise` after an error.
template <typename T, typename Work>
T EnterFor(TF_Status* out, T otherwise, Work&& work) noexcept {
  StatusOr<T> result = Contained([&]() -> StatusOr<T> { return work(); });
  SetStatus(out, result.ok() ? OkStatus() : result.status());
  return result.ok() ? *std::move(result) : otherwise;
}

// For what is not there.
void NotThere(TF_Status* out, const char* function, const char* reason) noexcept;

// Errors: InvalidArgument "NAME is NULL".
Status NotNull(const void* pointer, const char* name);
// An array of `count` elements may only be NULL when it is empty. Errors: InvalidArgument.
Status CheckArray(const void* array, int64_t count, const char* name);

}  // namespace tensorfleet::capi

// Returns the error from the enclosing function when `pointer` is NULL.
#define TFLEET_NOT_NULL(pointer) \
  TFLEET_RETURN_IF_ERROR(::tensorfleet::capi::NotNull(pointer, #pointer))
