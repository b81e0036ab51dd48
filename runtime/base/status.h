// Errors. Everything fallible returns absl::Status or absl::StatusOr; nothing throws across our
// APIs. A message says who, what was wrong and the value seen: InvalidArgument("axis ", axis, " is
// ..."). The codes are those of gRPC, which are TensorFlow's `error.Code` too.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tensorfleet {

using absl::OkStatus;
using absl::Status;
using absl::StatusOr;

// One factory per code; the arguments are concatenated as by absl::StrCat.
#define TFLEET_STATUS_FACTORY(Name, code)                         \
  template <typename... Args>                                     \
  [[nodiscard]] Status Name(const Args&... args) {                \
    return Status(absl::StatusCode::code, absl::StrCat(args...)); \
  }
TFLEET_STATUS_FACTORY(Cancelled, kCancelled)
TFLEET_STATUS_FACTORY(Unknown, kUnknown)
TFLEET_STATUS_FACTORY(InvalidArgument, kInvalidArgument)
TFLEET_STATUS_FACTORY(DeadlineExceeded, kDeadlineExceeded)
TFLEET_STATUS_FACTORY(NotFound, kNotFound)
TFLEET_STATUS_FACTORY(AlreadyExists, kAlreadyExists)
TFLEET_STATUS_FACTORY(PermissionDenied, kPermissionDenied)
TFLEET_STATUS_FACTORY(ResourceExhausted, kResourceExhausted)
TFLEET_STATUS_FACTORY(FailedPrecondition, kFailedPrecondition)
TFLEET_STATUS_FACTORY(Aborted, kAborted)
TFLEET_STATUS_FACTORY(OutOfRange, kOutOfRange)
TFLEET_STATUS_FACTORY(Unimplemented, kUnimplemented)
TFLEET_STATUS_FACTORY(Internal, kInternal)
TFLEET_STATUS_FACTORY(Unavailable, kUnavailable)
TFLEET_STATUS_FACTORY(DataLoss, kDataLoss)
TFLEET_STATUS_FACTORY(Unauthenticated, kUnauthenticated)
#undef TFLEET_STATUS_FACTORY

// Payload that marks an error as a consequence of another one ("derived"): a step reports its first
// root cause and never such an echo. The key is TensorFlow's, so that the mark survives the wire.
inline constexpr char kDerivedStatusPayload[] = "type.googleapis.com/tensorflow.DerivedStatus";

// Returns `status` with the derived mark set; an OK status is returned unchanged.
[[nodiscard]] Status MarkDerived(Status status);
[[nodiscard]] bool IsDerived(const Status& status);

// Returns `status` with `text` put in front of, or after, its message. Code and payloads are kept;
// an OK status is returned unchanged.
[[nodiscard]] Status Prefixed(absl::string_view text, const Status& status);
[[nodiscard]] Status Suffixed(const Status& status, absl::string_view text);

// Returns `status` naming the graph node it came from, in the form that TensorFlow clients parse
// ("\n\t [[{{node NAME}}]]"). Appended once only.
[[nodiscard]] Status WithNode(const Status& status, absl::string_view node_name);

}  // namespace tensorfleet

#define TFLEET_CONCAT_INNER(a, b) a##b
#define TFLEET_CONCAT(a, b) TFLEET_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (a Status) is not OK.
#define TFLEET_RETURN_IF_ERROR(expr)                        \
  do {                                                      \
    if (::absl::Status _st = (expr); !_st.ok()) return _st; \
  } while (false)

// TFLEET_ASSIGN_OR_RETURN(Tensor t, MakeTensor()): declares or assigns, or returns the error.
#define TFLEET_ASSIGN_OR_RETURN(lhs, expr) \
  TFLEET_ASSIGN_OR_RETURN_IMPL(TFLEET_CONCAT(_statusor_, __LINE__), lhs, expr)
#define TFLEET_ASSIGN_OR_RETURN_IMPL(var, lhs, expr) \
  auto var = (expr);                                 \
  if (!var.ok()) return std::move(var).status();     \
  lhs = std::move(var).value()
