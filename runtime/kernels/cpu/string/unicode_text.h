// Text in any encoding to code points and back, by ICU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/kernels/kernel.h"

struct UConverter;

namespace tensorfleet::cpu {

// What is done with what is not valid.
enum class UnicodeErrors { kStrict, kReplace, kIgnore };

struct UnicodePolicy {
  UnicodeErrors errors = UnicodeErrors::kReplace;
  int32_t replacement = 0xFFFD;
  bool replaces_control_characters = false;

  // Reads the attributes of an op that has them.
  static UnicodePolicy Read(KernelInit& init);
};

// Reads text of one encoding. Not thread-safe.
class UnicodeReader {
 public:
  // Errors: InvalidArgument for an encoding that ICU doesn't know.
  static StatusOr<UnicodeReader> Make(const std::string& encoding);

  // Calls take(code point, byte at which it begins) for each character, as `policy` has it.
  // Errors: InvalidArgument when it is strict and the text is not valid.
  Status Read(absl::string_view text, const UnicodePolicy& policy,
              absl::FunctionRef<void(int32_t, int64_t)> take);

 private:
  struct Closer {
    void operator()(UConverter* converter) const;
  };
  std::unique_ptr<UConverter, Closer> converter_;
  bool is_utf8_ = false;
  std::unique_ptr<bool> has_error_;  // set by the converter's callback
};

enum class UnicodeFormat { kUtf8, kUtf16BigEndian, kUtf32BigEndian };
// By the attribute's value: "UTF-8", "UTF-16-BE", "UTF-32-BE".
UnicodeFormat UnicodeFormatOf(absl::string_view name);

// Puts characters together.
class UnicodeWriter {
 public:
  // Leaves out what is beyond Unicode's range.
  void Add(int32_t code_point);
  // What was added since the last call.
  void Take(UnicodeFormat format, std::string* out);

 private:
  std::u16string text_;
};

// UTF-8 text in lower or upper case, by Unicode's rules for no language in particular; what is not
// valid becomes U+FFFD.
StatusOr<std::string> ChangeCase(absl::string_view utf8, bool to_upper);

}  // namespace tensorfleet::cpu
