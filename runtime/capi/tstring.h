// TF_TString by the library itself.
#pragma once

#include "absl/strings/string_view.h"
#include "tensorflow/c/tf_tstring.h"

namespace tensorfleet::capi {

absl::string_view TextOf(const TF_TString& string);

}  // namespace tensorfleet::capi
