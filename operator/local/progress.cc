#include "operator/local/progress.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "runtime/base/small_file.h"

namespace tensorfleet::local {
namespace {

using nlohmann::json;

// A file of a process under way is not ours to trust.
constexpr size_t kMaxFile = 4096;

// The number that follows `word` in `line` (in lower case), with blanks, '=' and ':' between them.
std::optional<absl::string_view> NumberAfter(absl::string_view line, absl::string_view word) {
  for (size_t at = line.find(word); at != absl::string_view::npos; at = line.find(word, at + 1)) {
    // "global_step" ends in step, "timestep" and "steps" do not mean it.
    if (at > 0 && absl::ascii_isalnum(line[at - 1])) continue;
    const absl::string_view rest = line.substr(at + word.size());
    const size_t begin = rest.find_first_not_of(" =:\"'");
    if (begin == absl::string_view::npos || begin == 0) continue;
    const size_t end = rest.find_first_not_of("+-.0123456789e", begin);
    const absl::string_view number = rest.substr(begin, end - begin);
    if (!number.empty() && (absl::ascii_isdigit(number[0]) || number[0] == '-')) return number;
  }
  return std::nullopt;
}

}  // namespace

void Progress::OnLine(absl::string_view line, Time now) {
  constexpr size_t kMaxLine = 1000;
  const std::string lower = absl::AsciiStrToLower(line.substr(0, kMaxLine));
  double loss;
  if (const auto text = NumberAfter(lower, "loss"); text && absl::SimpleAtod(*text, &loss)) {
    loss_ = loss;
  }
  double accuracy;
  if (const auto text = NumberAfter(lower, "accuracy");
      text && absl::SimpleAtod(*text, &accuracy) && std::isfinite(accuracy)) {
    Keep(accuracy);
  }
  const auto text = NumberAfter(lower, "step");
  int64_t step;
  if (!text || !absl::SimpleAtoi(text->substr(0, text->find('.')), &step)) return;
  step_ = step;
  // A step that goes back is a restart, and the rate begins anew.
  if (!rate_since_ || step < rate_since_->second) {
    rate_since_ = {now, step};
    return;
  }
  const double seconds = std::chrono::duration<double>(now - rate_since_->first).count();
  if (seconds < 0.2) return;  // too short to tell
  rate_ = static_cast<double>(step - rate_since_->second) / seconds;
  rate_since_ = {now, step};
}

void Progress::Keep(double accuracy) {
  constexpr size_t kMaxValues = 1000;
  accuracy_.push_back(accuracy);
  if (accuracy_.size() <= kMaxValues) return;
  size_t kept = 0;
  for (size_t i = 0; i < accuracy_.size(); ++i) {
    if (i % 2 == 0 || i > kMaxValues / 2) accuracy_[kept++] = accuracy_[i];
  }
  accuracy_.resize(kept);
}

void Progress::Refresh() {
  const StatusOr<std::string> text = ReadSmallFile(file_);
  if (!text.ok() || text->size() > kMaxFile) return;
  const json parsed = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return;  // half written, perhaps
  from_file_ = *text;
  if (const auto step = parsed.find("step"); step != parsed.end() && step->is_number_integer())
    step_ = step->get<int64_t>();
  if (const auto loss = parsed.find("loss"); loss != parsed.end() && loss->is_number())
    loss_ = loss->get<double>();
  if (const auto rate = parsed.find("stepsPerSecond"); rate != parsed.end() && rate->is_number())
    rate_ = rate->get<double>();
}

std::string Progress::Annotation() const {
  if (!from_file_.empty()) return from_file_;
  if (!step_) return "";
  json text = {{"step", *step_}};
  if (rate_) text["stepsPerSecond"] = *rate_;
  return text.dump();
}

}  // namespace tensorfleet::local
