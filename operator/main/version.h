// What --version and the build metric say.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tensorfleet::operator_main {

absl::string_view Version();
// Several lines: version, commit, compiler, kind of build.
std::string BuildDescription();

}  // namespace tensorfleet::operator_main
