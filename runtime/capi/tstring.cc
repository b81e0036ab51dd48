#include "runtime/capi/tstring.h"

#include <cstdlib>
#include <cstring>
#include <new>

static_assert(sizeof(TF_TString) == 24, "the binary interface of TensorFlow's strings");

namespace tensorfleet::capi {
namespace {

TF_TString_Type FormOf(const TF_TString& string) {
  return static_cast<TF_TString_Type>(string.u.raw.raw[0] & TF_TSTR_TYPE_MASK);
}

}  // namespace

absl::string_view TextOf(const TF_TString& string) {
  switch (FormOf(string)) {
    case TF_TSTR_SMALL:
      return {string.u.smll.str, static_cast<size_t>(string.u.smll.size >> 2)};
    case TF_TSTR_LARGE:
      return {string.u.large.ptr, string.u.large.size >> 2};
    case TF_TSTR_OFFSET:
      return {reinterpret_cast<const char*>(&string) + string.u.offset.offset,
              static_cast<size_t>(string.u.offset.size >> 2)};
    default:
      return {string.u.view.ptr, string.u.view.size >> 2};
  }
}

}  // namespace tensorfleet::capi

using namespace tensorfleet::capi;  // NOLINT: the functions of C are outside of it

extern "C" {

void TF_StringInit(TF_TString* t) {
  if (t != nullptr) std::memset(t, 0, sizeof(*t));
}

void TF_StringCopy(TF_TString* dst, const char* src, size_t size) {
  if (dst == nullptr || (src == nullptr && size != 0)) return;
  // `src` may be a part of what `dst` holds.
  TF_TString copy;
  TF_StringInit(&copy);
  if (size <= TF_TString_SmallCapacity) {
    if (size != 0) std::memcpy(copy.u.smll.str, src, size);
    copy.u.smll.size = static_cast<uint8_t>(size << 2 | TF_TSTR_SMALL);
  } else {
    // With the zero byte, a multiple of sixteen bytes.
    const size_t capacity = ((size + 1 + 15) & ~size_t{15}) - 1;
    char* text = static_cast<char*>(std::malloc(capacity + 1));
    if (text == nullptr) std::abort();  // as TensorFlow's; there is no way to say it
    std::memcpy(text, src, size);
    text[size] = '\0';
    copy.u.large = {size << 2 | TF_TSTR_LARGE, capacity, text};
  }
  TF_StringDealloc(dst);
  *dst = copy;
}

void TF_StringAssignView(TF_TString* dst, const char* src, size_t size) {
  if (dst == nullptr) return;
  TF_StringDealloc(dst);
  dst->u.view.size = size << 2 | TF_TSTR_VIEW;
  dst->u.view.ptr = src;
}

const char* TF_StringGetDataPointer(const TF_TString* tstr) {
  return tstr == nullptr ? nullptr : TextOf(*tstr).data();
}

TF_TString_Type TF_StringGetType(const TF_TString* str) {
  return str == nullptr ? TF_TSTR_SMALL
                        : static_cast<TF_TString_Type>(str->u.raw.raw[0] & TF_TSTR_TYPE_MASK);
}

size_t TF_StringGetSize(const TF_TString* tstr) {
  return tstr == nullptr ? 0 : TextOf(*tstr).size();
}

size_t TF_StringGetCapacity(const TF_TString* str) {
  switch (TF_StringGetType(str)) {
    case TF_TSTR_SMALL:
      return TF_TString_SmallCapacity;
    case TF_TSTR_LARGE:
      return str->u.large.cap;
    default:
      return 0;
  }
}

void TF_StringDealloc(TF_TString* tstr) {
  if (TF_StringGetType(tstr) != TF_TSTR_LARGE || tstr->u.large.ptr == nullptr) return;
  std::free(tstr->u.large.ptr);
  TF_StringInit(tstr);
}

}  // extern "C"
