#include "runtime/session/master/step_errors.h"

#include "absl/strings/str_cat.h"

namespace tensorfleet {

bool StepErrors::Add(Status status) {
  if (status.ok()) return false;
  MutexLock lock(&mu_);
  if (IsDerived(status)) {
    if (first_echo_.ok()) first_echo_ = std::move(status);
    return false;
  }
  for (const Status& known : roots_) {
    if (known == status) return false;
  }
  roots_.push_back(std::move(status));
  return roots_.size() == 1;
}

bool StepErrors::ok() const {
  MutexLock lock(&mu_);
  return roots_.empty() && first_echo_.ok();
}

Status StepErrors::Merged() const {
  MutexLock lock(&mu_);
  if (roots_.empty()) return first_echo_;
  if (roots_.size() == 1) return roots_[0];
  constexpr char kRule[] = "\n=====================\n";
  std::string text = kRule;
  for (const Status& root : roots_) {
    absl::StrAppend(&text, absl::StatusCodeToString(root.code()), ": ", root.message(), kRule);
  }
  Status merged(roots_[0].code(), text);
  roots_[0].ForEachPayload(
      [&](absl::string_view key, const absl::Cord& value) { merged.SetPayload(key, value); });
  return merged;
}

}  // namespace tensorfleet
