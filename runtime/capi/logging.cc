// TF_Log and its like: lines in the runtime's log; and who listens to what steps print.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "runtime/base/contain.h"
#include "runtime/base/log.h"
#include "runtime/kernels/portable/print_listeners.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/logging.h"

namespace tensorfleet::capi {
namespace {

std::string Formatted(const char* format, va_list values) {
  va_list again;
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) return format;
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, values);
  text.pop_back();
  return text;
}

void WriteLine(TF_LogLevel level, const char* format, va_list values) {
  if (format == nullptr) return;
  Contained([&] {
    const std::string text = Formatted(format, values);
    if (level == TF_INFO) {
      LogInfo(text);
    } else if (level == TF_WARNING) {
      LogWarning(text);
    } else {
      LogError(text);
    }
  }).IgnoreError();
  if (level == TF_FATAL) std::abort();
}

// As TensorFlow's programs ask for it.
bool Shows(int level) {
  static const int most = [] {
    int number = 0;
    const char* text = std::getenv("TF_CPP_MAX_VLOG_LEVEL");
    return text != nullptr && absl::SimpleAtoi(text, &number) ? number : 0;
  }();
  return level <= most;
}

// A library says nothing while all is well. TF_CPP_MIN_LOG_LEVEL is TensorFlow's: 0 from
// information on, 1 from warnings, 2 from errors, 3 nothing.
[[maybe_unused]] const bool kLevelIsSet = [] {
  constexpr LogLevel kLevels[] = {LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError,
                                  LogLevel::kOff};
  const char* text = std::getenv("TF_CPP_MIN_LOG_LEVEL");
  int number = 1;
  if (text == nullptr || !absl::SimpleAtoi(text, &number)) number = 1;
  SetLogLevel(kLevels[std::clamp(number, 0, 3)]);
  return true;
}();

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet::capi;  // NOLINT: the functions of C are outside of it

extern "C" {

void TF_Log(TF_LogLevel level, const char* fmt, ...) {
  va_list values;
  va_start(values, fmt);
  WriteLine(level, fmt, values);
  va_end(values);
}

void TF_VLog(int level, const char* fmt, ...) {
  if (!Shows(level)) return;
  va_list values;
  va_start(values, fmt);
  WriteLine(TF_INFO, fmt, values);
  va_end(values);
}

void TF_DVLog(int level, const char* fmt, ...) {
#ifndef NDEBUG
  if (!Shows(level)) return;
  va_list values;
  va_start(values, fmt);
  WriteLine(TF_INFO, fmt, values);
  va_end(values);
#endif
}

void TF_RegisterLogListener(void (*listener)(const char*)) {
  if (listener == nullptr) return;
  tensorfleet::Contained([&] { tensorfleet::portable::AddPrintListener(listener); }).IgnoreError();
}

}  // extern "C"
