#include "runtime/base/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"

namespace tensorfleet {
namespace {

Status WithMessage(const Status& from, absl::string_view message) {
  Status to(from.code(), message);
  from.ForEachPayload(
      [&](absl::string_view key, const absl::Cord& value) { to.SetPayload(key, value); });
  return to;
}

}  // namespace

Status MarkDerived(Status status) {
  if (!status.ok()) status.SetPayload(kDerivedStatusPayload, absl::Cord());
  return status;
}

bool IsDerived(const Status& status) {
  return !status.ok() && status.GetPayload(kDerivedStatusPayload).has_value();
}

Status Prefixed(absl::string_view text, const Status& status) {
  return status.ok() ? status : WithMessage(status, absl::StrCat(text, status.message()));
}

Status Suffixed(const Status& status, absl::string_view text) {
  return status.ok() ? status : WithMessage(status, absl::StrCat(status.message(), text));
}

Status WithNode(const Status& status, absl::string_view node_name) {
  if (status.ok() || absl::StrContains(status.message(), "[[{{node ")) return status;
  return Suffixed(status, absl::StrCat("\n\t [[{{node ", node_name, "}}]]"));
}

}  // namespace tensorfleet
