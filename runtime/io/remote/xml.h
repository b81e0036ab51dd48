// Just enough XML for the answers of stores.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tensorfleet {

// The text of the first element <name> in `xml`, entities decoded; "" when there is none.
std::string XmlText(absl::string_view xml, absl::string_view name);
// The contents of each element <name>, not decoded.
std::vector<std::string> XmlElements(absl::string_view xml, absl::string_view name);

}  // namespace tensorfleet
