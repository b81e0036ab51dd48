#include "runtime/cli/log_flags.h"

#include <CLI/CLI.hpp>

#include "runtime/base/log.h"

namespace tensorfleet::cli {

void LogFlags::AddTo(CLI::App* command) {
  command->add_option("--log_level", level, "debug, info, warning, error or off")
      ->capture_default_str();
  command->add_option("--log_format", format, "console, or json: one object per line")
      ->capture_default_str();
}

Status LogFlags::Apply() const {
  TFLEET_ASSIGN_OR_RETURN(const LogLevel parsed, ParseLogLevel(level));
  if (format != "console" && format != "json") {
    return InvalidArgument("--log_format must be 'console' or 'json', not '", format, "'");
  }
  SetLogLevel(parsed);
  SetLogFormat(format == "json" ? LogFormat::kJson : LogFormat::kConsole);
  return OkStatus();
}

}  // namespace tensorfleet::cli
