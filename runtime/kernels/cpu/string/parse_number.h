// Numbers written as text, as TensorFlow reads them: white space around is skipped; integers take
// no plus sign; floating ones may be hexadecimal integers, "inf" or "nan" in any case, not
// "infinity".
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tensorfleet::cpu {

// False, with `*value` left to chance, when the text is no number or doesn't fit.
bool ParseNumber(absl::string_view text, float* value);
bool ParseNumber(absl::string_view text, double* value);
bool ParseNumber(absl::string_view text, int32_t* value);
bool ParseNumber(absl::string_view text, int64_t* value);

}  // namespace tensorfleet::cpu
