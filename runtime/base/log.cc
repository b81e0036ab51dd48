#include "runtime/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "absl/strings/ascii.h"

namespace tensorfleet {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::atomic<bool>& UseJson() {
  static std::atomic<bool> json{false};
  return json;
}

// Leaked on purpose: threads may log while static objects are destroyed.
spdlog::logger& Logger() {
  static spdlog::logger* logger = [] {
    auto* made =
        new spdlog::logger("tensorfleet", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%L%m%d %H:%M:%S.%f %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

void AppendQuoted(absl::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          absl::StrAppend(&out, "\\u", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad4));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::string JsonLine(LogLevel level, absl::string_view message, LogFields fields) {
  const auto name = spdlog::level::to_string_view(ToSpdlog(level));
  std::string line =
      absl::StrCat("\"level\":\"", absl::string_view(name.data(), name.size()), "\",\"msg\":");
  AppendQuoted(message, line);
  for (const LogField& field : fields) {
    line += ',';
    AppendQuoted(field.key, line);
    line += ':';
    AppendQuoted(field.value, line);
  }
  return line;
}

std::string ConsoleLine(absl::string_view message, LogFields fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    const bool plain =
        !field.value.empty() && field.value.find_first_of(" \"\n\t") == std::string::npos;
    if (plain) {
      line += field.value;
    } else {
      AppendQuoted(field.value, line);
    }
  }
  return line;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

void SetLogFormat(LogFormat format) {
  UseJson() = format == LogFormat::kJson;
  // JSON lines carry their time as the first member.
  Logger().set_pattern(
      format == LogFormat::kJson ? "{\"ts\":\"%Y-%m-%dT%H:%M:%S.%fZ\",%v" : "%L%m%d %H:%M:%S.%f %v",
      format == LogFormat::kJson ? spdlog::pattern_time_type::utc
                                 : spdlog::pattern_time_type::local);
}

bool LogEnabled(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

StatusOr<LogLevel> ParseLogLevel(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "debug") return LogLevel::kDebug;
  if (lower == "info") return LogLevel::kInfo;
  if (lower == "warning") return LogLevel::kWarning;
  if (lower == "error") return LogLevel::kError;
  if (lower == "off") return LogLevel::kOff;
  return InvalidArgument("log level \"", text, "\" is not one of debug, info, warning, error, off");
}

void Log(LogLevel level, absl::string_view message, LogFields fields) {
  if (!LogEnabled(level)) return;
  std::string line = UseJson() ? JsonLine(level, message, fields) : ConsoleLine(message, fields);
  if (UseJson()) line += '}';
  Logger().log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace tensorfleet
