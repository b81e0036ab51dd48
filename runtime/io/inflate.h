// Decompressing bytes that are in memory.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet {

enum class InflateFormat { kZlib, kGzip };

// Puts what a stream of zlib, or one or more gzip files one after the other, hold into `*out`. A
// stream that is cut off gives what there is; what comes after a stream is left. `look`, called for
// each piece with the size so far, may stop it by an error. Errors: DataLoss; `look`'s.
Status Inflate(absl::string_view bytes, InflateFormat format,
               absl::FunctionRef<Status(size_t)> look, std::string* out);

}  // namespace tensorfleet
