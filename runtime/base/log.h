// Logging: one line per event on standard error, a constant message first, then facts as key=value.
//   LogInfo("CreateSession still waiting for response from worker: /job:ps/replica:0/task:0");
//   LogWarning("step failed", {{"step", step_id}, {"code", code}});
// Lines are written whole; any thread may log. The format (console or JSON) and level are
// process-wide.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kConsole, kJson };

struct LogField {
  template <typename T>
  LogField(absl::string_view k, const T& v) : key(k), value(absl::StrCat(v)) {}
  LogField(absl::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  std::string key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

void SetLogLevel(LogLevel level);
void SetLogFormat(LogFormat format);
bool LogEnabled(LogLevel level);

// Parses "debug", "info", "warning", "error" or "off" (any case).
StatusOr<LogLevel> ParseLogLevel(absl::string_view text);

void Log(LogLevel level, absl::string_view message, LogFields fields = {});
inline void LogDebug(absl::string_view message, LogFields fields = {}) {
  if (LogEnabled(LogLevel::kDebug)) Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(absl::string_view message, LogFields fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(absl::string_view message, LogFields fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(absl::string_view message, LogFields fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace tensorfleet
