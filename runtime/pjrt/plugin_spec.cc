#include "runtime/pjrt/plugin_spec.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tensorfleet::pjrt {
namespace {

PluginSpec::Value ValueFrom(absl::string_view text) {
  int64_t number = 0;
  float fraction = 0;
  if (text == "true" || text == "false") return text == "true";
  if (absl::SimpleAtoi(text, &number)) return number;
  if (absl::SimpleAtof(text, &fraction)) return fraction;
  absl::string_view inner = text;
  if (absl::ConsumePrefix(&inner, "[") && absl::ConsumeSuffix(&inner, "]")) {
    std::vector<int64_t> list;
    bool is_list = true;
    for (const absl::string_view part : absl::StrSplit(inner, ':', absl::SkipEmpty())) {
      is_list &= absl::SimpleAtoi(part, &number);
      list.push_back(number);
    }
    if (is_list) return list;
  }
  return std::string(text);
}

bool IsTypeName(absl::string_view type) {
  if (type.empty() || !absl::ascii_isalpha(type[0])) return false;
  return std::all_of(type.begin(), type.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

StatusOr<PluginSpec> ParseOne(absl::string_view entry) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(entry, absl::MaxSplits('=', 1));
  if (!absl::StrContains(entry, '=') || parts.second.empty()) {
    return InvalidArgument("plug-in '", entry, "' must be TYPE=PATH, for example GPU=/lib/x.so");
  }
  PluginSpec spec;
  spec.type = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(parts.first));
  if (!IsTypeName(spec.type)) {
    return InvalidArgument("plug-in '", entry, "': '", spec.type, "' is not a type of device");
  }
  if (spec.type == "CPU") {
    return InvalidArgument("plug-in '", entry,
                           "': every server has a CPU of its own; choose another type of device");
  }
  const std::pair<absl::string_view, absl::string_view> path =
      absl::StrSplit(parts.second, absl::MaxSplits('?', 1));
  spec.path = std::string(path.first);
  if (spec.path.empty()) return InvalidArgument("plug-in '", entry, "' has no path");
  for (const absl::string_view option : absl::StrSplit(path.second, '&', absl::SkipEmpty())) {
    const size_t equals = option.find('=');
    if (equals == absl::string_view::npos || equals == 0) {
      return InvalidArgument("plug-in '", entry, "': option '", option, "' must be name=value");
    }
    const absl::string_view name = option.substr(0, equals), value = option.substr(equals + 1);
    if (name != "precision") {
      spec.options.push_back({std::string(name), ValueFrom(value)});
      continue;
    }
    constexpr absl::string_view kPrecisions[] = {"default", "high", "highest"};
    const auto found = std::find(std::begin(kPrecisions), std::end(kPrecisions), value);
    if (found == std::end(kPrecisions)) {
      return InvalidArgument("plug-in '", entry, "': precision must be default, high or highest");
    }
    spec.precision = static_cast<int>(found - std::begin(kPrecisions));
  }
  return spec;
}

std::string TypeFromFile(const std::string& stem) {
  const std::string name = absl::AsciiStrToLower(stem);
  for (const char* gpu : {"cuda", "rocm"}) {
    if (absl::StrContains(name, gpu)) return "GPU";
  }
  if (absl::StrContains(name, "tpu")) return "TPU";
  absl::string_view own = stem;
  absl::ConsumePrefix(&own, "pjrt_");
  return absl::AsciiStrToUpper(own);
}

}  // namespace

StatusOr<std::vector<PluginSpec>> ParsePluginSpecs(absl::string_view text) {
  std::vector<PluginSpec> specs;
  for (const absl::string_view entry : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    TFLEET_ASSIGN_OR_RETURN(PluginSpec spec, ParseOne(absl::StripAsciiWhitespace(entry)));
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<PluginSpec> FindPluginsIn(const std::string& folder) {
  std::vector<PluginSpec> found;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (file.path().extension() != ".so") continue;
    PluginSpec spec;
    spec.type = TypeFromFile(file.path().stem().string());
    spec.path = file.path().string();
    if (IsTypeName(spec.type) && spec.type != "CPU") found.push_back(std::move(spec));
  }
  std::sort(found.begin(), found.end(),
            [](const PluginSpec& a, const PluginSpec& b) { return a.path < b.path; });
  return found;
}

}  // namespace tensorfleet::pjrt
