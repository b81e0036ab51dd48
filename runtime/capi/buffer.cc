#include "runtime/capi/buffer.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace tensorfleet::capi {
namespace {

void FreeBytes(void* data, size_t) { std::free(data); }

}  // namespace

Status FillBuffer(absl::string_view bytes, TF_Buffer* out) {
  if (out == nullptr) return InvalidArgument("the TF_Buffer for the result is NULL");
  if (out->data != nullptr) {
    return InvalidArgument(
        "the TF_Buffer for the result holds something already; pass an empty one");
  }
  void* copy = std::malloc(bytes.empty() ? 1 : bytes.size());
  if (copy == nullptr) return ResourceExhausted("no memory for ", bytes.size(), " bytes");
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  out->data = copy;
  out->length = bytes.size();
  out->data_deallocator = FreeBytes;
  return OkStatus();
}

Status FillBuffer(const google::protobuf::MessageLite& message, TF_Buffer* out) {
  std::string bytes;
  if (!message.SerializeToString(&bytes)) {
    return InvalidArgument(message.GetTypeName(), " is too large to be serialized");
  }
  return FillBuffer(bytes, out);
}

StatusOr<TF_Buffer*> NewBuffer(const google::protobuf::MessageLite& message) {
  TF_Buffer* buffer = TF_NewBuffer();
  if (buffer == nullptr) return ResourceExhausted("no memory for a TF_Buffer");
  if (const Status filled = FillBuffer(message, buffer); !filled.ok()) {
    TF_DeleteBuffer(buffer);
    return filled;
  }
  return buffer;
}

Status ParseMessage(const void* data, size_t size, const char* what,
                    google::protobuf::MessageLite* message) {
  if (data == nullptr && size != 0) return InvalidArgument("the ", what, " is NULL");
  if (size > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !message->ParseFromArray(data, static_cast<int>(size))) {
    return InvalidArgument("Unparseable ", what, ": ", size, " bytes are no ",
                           message->GetTypeName());
  }
  return OkStatus();
}

Status ParseMessage(const TF_Buffer* buffer, const char* what,
                    google::protobuf::MessageLite* message) {
  if (buffer == nullptr) return InvalidArgument("the ", what, " is NULL");
  return ParseMessage(buffer->data, buffer->length, what, message);
}

}  // namespace tensorfleet::capi

using namespace tensorfleet::capi;  // NOLINT: the functions of C are outside of it

extern "C" {

TF_Buffer* TF_NewBuffer() { return new (std::nothrow) TF_Buffer{nullptr, 0, nullptr}; }

TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len) {
  if (proto == nullptr && proto_len != 0) return nullptr;
  TF_Buffer* buffer = TF_NewBuffer();
  if (buffer == nullptr) return nullptr;
  const bool filled =
      FillBuffer(absl::string_view(static_cast<const char*>(proto), proto_len), buffer).ok();
  if (filled) return buffer;
  delete buffer;
  return nullptr;
}

void TF_DeleteBuffer(TF_Buffer* buffer) {
  if (buffer == nullptr) return;
  if (buffer->data_deallocator != nullptr) {
    buffer->data_deallocator(const_cast<void*>(buffer->data), buffer->length);
  }
  delete buffer;
}

TF_Buffer TF_GetBuffer(TF_Buffer* buffer) {
  return buffer == nullptr ? TF_Buffer{nullptr, 0, nullptr} : *buffer;
}

}  // extern "C"
