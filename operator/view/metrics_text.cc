#include "operator/view/metrics_text.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tensorfleet::view {
namespace {

// Takes "a="b",c="d"}" from the front; false when it is something else.
bool TakeLabels(absl::string_view* text, std::map<std::string, std::string>* labels) {
  while (!text->empty() && text->front() != '}') {
    const size_t equals = text->find("=\"");
    if (equals == absl::string_view::npos) return false;
    const std::string name(absl::StripAsciiWhitespace(text->substr(0, equals)));
    text->remove_prefix(equals + 2);
    std::string value;
    for (;;) {
      if (text->empty()) return false;
      const char c = text->front();
      text->remove_prefix(1);
      if (c == '"') break;
      if (c != '\\') {
        value += c;
        continue;
      }
      if (text->empty()) return false;
      value += text->front() == 'n' ? '\n' : text->front();
      text->remove_prefix(1);
    }
    (*labels)[name] = std::move(value);
    if (!text->empty() && text->front() == ',') text->remove_prefix(1);
  }
  if (text->empty()) return false;
  text->remove_prefix(1);
  return true;
}

std::optional<Sample> ParseLine(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line.front() == '#') return std::nullopt;
  const size_t end = line.find_first_of("{ ");
  if (end == absl::string_view::npos) return std::nullopt;
  Sample sample;
  sample.name = std::string(line.substr(0, end));
  line.remove_prefix(end);
  if (line.front() == '{') {
    line.remove_prefix(1);
    if (!TakeLabels(&line, &sample.labels)) return std::nullopt;
  }
  line = absl::StripAsciiWhitespace(line);
  // A time may follow.
  if (!absl::SimpleAtod(line.substr(0, line.find(' ')), &sample.value)) return std::nullopt;
  return sample;
}

}  // namespace

std::vector<Sample> ParseMetrics(absl::string_view text) {
  std::vector<Sample> samples;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (samples.size() >= kMostSamples) break;
    if (std::optional<Sample> sample = ParseLine(line)) samples.push_back(*std::move(sample));
  }
  return samples;
}

}  // namespace tensorfleet::view
