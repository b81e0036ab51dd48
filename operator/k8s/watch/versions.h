// Comparing resource versions. Kubernetes promises order for those of one resource type (they are
// etcd's revisions); a server whose versions are not numbers gets "the later arrival is newer".
#pragma once

#include "absl/strings/string_view.h"

namespace tensorfleet::k8s {

// True when `a` comes after `b`, or the two cannot be compared and differ.
inline bool IsNewer(absl::string_view a, absl::string_view b) {
  const auto is_number = [](absl::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
  };
  if (!is_number(a) || !is_number(b)) return a != b;
  while (a.size() > 1 && a.front() == '0') a.remove_prefix(1);
  while (b.size() > 1 && b.front() == '0') b.remove_prefix(1);
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

// True when both are numbers and `a` comes before `b`.
inline bool IsOlder(absl::string_view a, absl::string_view b) {
  const auto is_number = [](absl::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
  };
  return is_number(a) && is_number(b) && IsNewer(b, a);
}

}  // namespace tensorfleet::k8s
