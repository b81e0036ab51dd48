// A window that slides along one dimension, as convolutions and pools have it: where it stands for
// each output, and how far it reaches over the edges. Shared by shape rules and kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet {

enum class Padding { kValid, kSame, kExplicit };

// "VALID", "SAME", "EXPLICIT". Errors: InvalidArgument.
StatusOr<Padding> PaddingFromName(absl::string_view name);

struct Window {
  int64_t input = 0;     // elements along the dimension
  int64_t size = 1;      // taps of the window
  int64_t dilation = 1;  // distance of its taps
  int64_t stride = 1;    // distance of its positions
  int64_t before = 0;    // how far the first position reaches over the edge
  int64_t after = 0;
  int64_t output = 0;  // positions

  // Where tap 0 of position `out` is; may be outside [0, input).
  int64_t Start(int64_t out) const { return out * stride - before; }
  // The taps [first, last) of position `out` that are inside.
  int64_t FirstTap(int64_t out) const {
    const int64_t start = Start(out);
    return start >= 0 ? 0 : std::min(size, (-start + dilation - 1) / dilation);
  }
  int64_t LastTap(int64_t out) const {
    const int64_t start = Start(out);
    if (start >= input) return 0;
    return std::min(size, (input - 1 - start) / dilation + 1);
  }
};

// `before` and `after` count with explicit padding alone. Errors: InvalidArgument for a size,
// dilation or stride below 1, padding below 0, numbers over 31 bits, and a window that does not fit
// (`Computed output size would be negative: -1 [input_size: 2, effective_filter_size: 4, stride:
// 1]`).
StatusOr<Window> MakeWindow(int64_t input, int64_t size, int64_t dilation, int64_t stride,
                            Padding padding, int64_t before = 0, int64_t after = 0);

}  // namespace tensorfleet
