#include "operator/api/values/index_set.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tensorfleet::api {

std::string IndexSetToString(const std::set<int32_t>& indexes) {
  std::string text;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const int32_t first = *it;
    int32_t last = first;
    for (++it; it != indexes.end() && *it == last + 1; ++it) last = *it;
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last != first) absl::StrAppend(&text, "-", last);
  }
  return text;
}

std::set<int32_t> ParseIndexSet(absl::string_view text) {
  std::set<int32_t> indexes;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int32_t first = 0;
    int32_t last = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) continue;
    last = first;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &last)) continue;
    if (first < 0 || last < first || last >= kMaxReplicas) continue;
    for (int32_t index = first; index <= last; ++index) indexes.insert(indexes.end(), index);
  }
  return indexes;
}

}  // namespace tensorfleet::api
