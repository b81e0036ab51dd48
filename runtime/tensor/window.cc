#include "runtime/tensor/window.h"

#include <limits>

namespace tensorfleet {
namespace {

// Sums and products of two numbers up to this fit easily into 64 bits.
constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxInput = int64_t{1} << 61;

Status CheckRange(const char* what, int64_t value, int64_t least) {
  if (value < least) return InvalidArgument(what, " must be >= ", least, ", but got ", value);
  if (value > kMax) return InvalidArgument(what, " must fit in 31 bits, but got ", value);
  return OkStatus();
}

}  // namespace

StatusOr<Padding> PaddingFromName(absl::string_view name) {
  if (name == "VALID") return Padding::kValid;
  if (name == "SAME") return Padding::kSame;
  if (name == "EXPLICIT") return Padding::kExplicit;
  return InvalidArgument("padding must be VALID, SAME or EXPLICIT, not '", name, "'");
}

StatusOr<Window> MakeWindow(int64_t input, int64_t size, int64_t dilation, int64_t stride,
                            Padding padding, int64_t before, int64_t after) {
  TFLEET_RETURN_IF_ERROR(CheckRange("Window size", size, 1));
  TFLEET_RETURN_IF_ERROR(CheckRange("Dilation rate", dilation, 1));
  TFLEET_RETURN_IF_ERROR(CheckRange("Stride", stride, 1));
  TFLEET_RETURN_IF_ERROR(CheckRange("Padding", before, 0));
  TFLEET_RETURN_IF_ERROR(CheckRange("Padding", after, 0));
  if (input < 0 || input > kMaxInput) {
    return InvalidArgument("A window cannot slide over a dimension of size ", input);
  }
  Window window;
  window.input = input;
  window.size = size;
  window.dilation = dilation;
  window.stride = stride;
  const int64_t reach = (size - 1) * dilation + 1;
  if (padding == Padding::kSame) {
    window.output = (input + stride - 1) / stride;
    const int64_t padded = std::max<int64_t>(0, (window.output - 1) * stride + reach - input);
    window.before = padded / 2;
    window.after = padded - window.before;
    return window;
  }
  if (padding == Padding::kExplicit) {
    window.before = before;
    window.after = after;
  }
  // Division towards zero: a window that is too big by less than a stride has no position, which is
  // no error.
  window.output = (input + window.before + window.after - reach + stride) / stride;
  if (window.output < 0) {
    return InvalidArgument("Computed output size would be negative: ", window.output,
                           " [input_size: ", input, ", effective_filter_size: ", reach,
                           ", stride: ", stride, "]");
  }
  return window;
}

}  // namespace tensorfleet
