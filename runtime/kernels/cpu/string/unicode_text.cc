#include "runtime/kernels/cpu/string/unicode_text.h"

#include <unicode/ucnv.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <limits>

namespace tensorfleet::cpu {
namespace {

// Notes that there was an error; what the converter puts in its place is not used.
void NoteError(const void* context, UConverterToUnicodeArgs* args, const char* bytes,
               int32_t length, UConverterCallbackReason reason, UErrorCode* status) {
  if (reason <= UCNV_IRREGULAR) *static_cast<bool*>(const_cast<void*>(context)) = true;
  UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, bytes, length, reason, status);
}

constexpr int32_t kLastControlCharacter = 0x1F, kLastCodePoint = 0x10FFFF;

}  // namespace

UnicodePolicy UnicodePolicy::Read(KernelInit& init) {
  UnicodePolicy policy;
  std::string errors;
  int64_t replacement = 0;
  init.Get("errors", &errors);
  init.Get("replacement_char", &replacement);
  if (FindAttr(init.def(), "replace_control_characters") != nullptr) {
    init.Get("replace_control_characters", &policy.replaces_control_characters);
  }
  policy.errors = errors == "strict"   ? UnicodeErrors::kStrict
                  : errors == "ignore" ? UnicodeErrors::kIgnore
                                       : UnicodeErrors::kReplace;
  if (replacement < 0 || replacement > kLastCodePoint) {
    init.Fail(InvalidArgument("replacement_char out of unicode codepoint range"));
  }
  policy.replacement = static_cast<int32_t>(replacement);
  return policy;
}

void UnicodeReader::Closer::operator()(UConverter* converter) const { ucnv_close(converter); }

StatusOr<UnicodeReader> UnicodeReader::Make(const std::string& encoding) {
  UnicodeReader reader;
  UErrorCode status = U_ZERO_ERROR;
  reader.converter_.reset(ucnv_open(encoding.c_str(), &status));
  reader.has_error_ = std::make_unique<bool>(false);
  if (U_SUCCESS(status)) {
    ucnv_setToUCallBack(reader.converter_.get(), NoteError, reader.has_error_.get(), nullptr,
                        nullptr, &status);
  }
  if (U_FAILURE(status)) {
    return InvalidArgument("Could not create converter for input encoding: ", encoding);
  }
  reader.is_utf8_ = ucnv_getType(reader.converter_.get()) == UCNV_UTF8;
  return reader;
}

Status UnicodeReader::Read(absl::string_view text, const UnicodePolicy& policy,
                           absl::FunctionRef<void(int32_t, int64_t)> take) {
  const char* at = text.data();
  const char* const end = at + text.size();
  ucnv_reset(converter_.get());
  while (at < end) {
    const int64_t begin = at - text.data();
    int32_t code_point = 0;
    bool is_bad = false;
    if (is_utf8_ && static_cast<uint8_t>(*at) < 0x80) {
      code_point = *at++;
    } else {
      UErrorCode status = U_ZERO_ERROR;
      *has_error_ = false;
      code_point = ucnv_getNextUChar(converter_.get(), &at, end, &status);
      // Nothing but a mark of the byte order was left.
      if (status == U_INDEX_OUTOFBOUNDS_ERROR) break;
      is_bad = *has_error_;
      if (U_FAILURE(status)) {
        is_bad = true;
        at = end;
      }
    }
    if (is_bad && policy.errors == UnicodeErrors::kStrict) {
      return InvalidArgument("Invalid formatting on input string");
    }
    if (is_bad && policy.errors == UnicodeErrors::kIgnore) continue;
    if (is_bad || (policy.replaces_control_characters && code_point <= kLastControlCharacter)) {
      code_point = policy.replacement;
    }
    take(code_point, begin);
  }
  return OkStatus();
}

UnicodeFormat UnicodeFormatOf(absl::string_view name) {
  return name == "UTF-16-BE"   ? UnicodeFormat::kUtf16BigEndian
         : name == "UTF-32-BE" ? UnicodeFormat::kUtf32BigEndian
                               : UnicodeFormat::kUtf8;
}

void UnicodeWriter::Add(int32_t code_point) {
  if (code_point < 0 || code_point > kLastCodePoint) return;
  if (code_point <= 0xFFFF) {
    text_.push_back(static_cast<char16_t>(code_point));
  } else {
    text_.push_back(U16_LEAD(code_point));
    text_.push_back(U16_TRAIL(code_point));
  }
}

void UnicodeWriter::Take(UnicodeFormat format, std::string* out) {
  out->clear();
  const auto put = [out](uint32_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      out->push_back(static_cast<char>(value >> shift));
    }
  };
  const size_t size = text_.size();
  for (size_t i = 0; i < size;) {
    if (format == UnicodeFormat::kUtf16BigEndian) {
      put(text_[i++], 2);
      continue;
    }
    UChar32 code_point;
    U16_NEXT(text_.data(), i, size, code_point);
    if (format == UnicodeFormat::kUtf32BigEndian) {
      put(static_cast<uint32_t>(code_point), 4);
      continue;
    }
    // Half a pair of surrogates has no form in UTF-8.
    if (U_IS_SURROGATE(code_point)) code_point = 0xFFFD;
    char bytes[U8_MAX_LENGTH];
    int length = 0;
    U8_APPEND_UNSAFE(bytes, length, code_point);
    out->append(bytes, length);
  }
  text_.clear();
}

StatusOr<std::string> ChangeCase(absl::string_view utf8, bool to_upper) {
  constexpr size_t kMost = std::numeric_limits<int32_t>::max() / 4;
  if (utf8.size() > kMost) {
    return InvalidArgument("a string of ", utf8.size(), " bytes is too long to change its case");
  }
  // Bytes to UTF-16 never grow in number; a character's other case is at most three units.
  std::u16string text(utf8.size() + 1, u'\0');
  int32_t length = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8WithSub(text.data(), static_cast<int32_t>(text.size()), &length, utf8.data(),
                       static_cast<int32_t>(utf8.size()), 0xFFFD, nullptr, &status);
  std::u16string changed(3 * static_cast<size_t>(length) + 1, u'\0');
  const auto change = to_upper ? u_strToUpper : u_strToLower;
  const int32_t changed_length = U_FAILURE(status)
                                     ? 0
                                     : change(changed.data(), static_cast<int32_t>(changed.size()),
                                              text.data(), length, "", &status);
  std::string out(3 * static_cast<size_t>(changed_length), '\0');
  int32_t out_length = 0;
  u_strToUTF8WithSub(out.data(), static_cast<int32_t>(out.size()), &out_length, changed.data(),
                     changed_length, 0xFFFD, nullptr, &status);
  if (U_FAILURE(status)) return Internal("changing the case failed: ", u_errorName(status));
  out.resize(out_length);
  return out;
}

}  // namespace tensorfleet::cpu
