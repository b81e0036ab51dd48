// TF_Status, and how calls leave their outcome in it.

#include <cstring>

#include "runtime/capi/boundary.h"

namespace tensorfleet::capi {

void SetStatus(TF_Status* out, const Status& status) noexcept {
  if (out == nullptr) return;
  try {
    out->message = std::string(status.message());
  } catch (...) {
    out->message.clear();
  }
  out->status = status;
}

void NotThere(TF_Status* out, const char* function, const char* reason) noexcept {
  Enter(out, [&]() -> Status {
    return Unimplemented(function, " is not implemented in tensorfleet: ", reason);
  });
}

Status NotNull(const void* pointer, const char* name) {
  return pointer == nullptr ? InvalidArgument(name, " is NULL") : OkStatus();
}

Status CheckArray(const void* array, int64_t count, const char* name) {
  if (count < 0) return InvalidArgument("the number of ", name, " is ", count);
  return count == 0 ? OkStatus() : NotNull(array, name);
}

}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_Status* TF_NewStatus() { return new (std::nothrow) TF_Status; }

void TF_DeleteStatus(TF_Status* s) { delete s; }

void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg) {
  Enter(s, [&] {
    return Status(static_cast<absl::StatusCode>(code),
                  code == TF_OK || msg == nullptr ? "" : absl::string_view(msg));
  });
}

void TF_SetPayload(TF_Status* s, const char* key, const char* value) {
  if (s == nullptr || key == nullptr || value == nullptr) return;
  Contained([&] { s->status.SetPayload(key, absl::Cord(value)); }).IgnoreError();
}

void TF_ForEachPayload(const TF_Status* s, TF_PayloadVisitor visitor, void* capture) {
  if (s == nullptr || visitor == nullptr) return;
  Contained([&] {
    s->status.ForEachPayload([&](absl::string_view key, const absl::Cord& value) {
      visitor(std::string(key).c_str(), std::string(value).c_str(), capture);
    });
  }).IgnoreError();
}

void TF_SetStatusFromIOError(TF_Status* s, int error_code, const char* context) {
  Enter(s, [&] {
    return Status(absl::ErrnoToStatusCode(error_code),
                  absl::StrCat(context == nullptr ? "" : context, "; ", std::strerror(error_code)));
  });
}

TF_Code TF_GetCode(const TF_Status* s) {
  return s == nullptr ? TF_OK : static_cast<TF_Code>(s->status.code());
}

const char* TF_Message(const TF_Status* s) { return s == nullptr ? "" : s->message.c_str(); }

}  // extern "C"
