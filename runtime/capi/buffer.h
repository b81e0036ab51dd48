// TF_Buffers with messages in them.
#pragma once

#include <google/protobuf/message_lite.h>

#include "runtime/capi/boundary.h"

namespace tensorfleet::capi {

// Lets `out`, which must be empty, own `bytes`. Errors: InvalidArgument when it holds something.
Status FillBuffer(absl::string_view bytes, TF_Buffer* out);
Status FillBuffer(const google::protobuf::MessageLite& message, TF_Buffer* out);
// A new buffer with the message.
StatusOr<TF_Buffer*> NewBuffer(const google::protobuf::MessageLite& message);

// Reads a message from outside. Errors: InvalidArgument naming `what`.
Status ParseMessage(const void* data, size_t size, const char* what,
                    google::protobuf::MessageLite* message);
Status ParseMessage(const TF_Buffer* buffer, const char* what,
                    google::protobuf::MessageLite* message);

}  // namespace tensorfleet::capi
