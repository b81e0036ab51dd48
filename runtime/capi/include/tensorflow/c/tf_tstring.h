/* Strings as they lie in a TF_STRING tensor: 24 bytes each, which hold short text themselves and
 * refer to long text. The two lowest bits of the first byte say which form it is. Little-endian
 * machines only, as this library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_tensor.h"

TF_BEGIN_DECLS

typedef enum TF_TString_Type TF_INT_ENUM {
  TF_TSTR_SMALL = 0,  /* up to 22 bytes, in place */
  TF_TSTR_LARGE = 1,  /* malloc'ed, owned */
  TF_TSTR_OFFSET = 2, /* in the same block of memory, so many bytes after this object */
  TF_TSTR_VIEW = 3,   /* somebody else's */
  TF_TSTR_TYPE_MASK = 3
} TF_TString_Type;

enum { TF_TString_SmallCapacity = 22 };

/* Sizes are shifted left by two bits, which hold the form. */
typedef struct TF_TString_Small {
  uint8_t size;
  char str[TF_TString_SmallCapacity + 1]; /* ends with a zero byte */
} TF_TString_Small;
typedef struct TF_TString_Large {
  size_t size;
  size_t cap; /* bytes of text that fit, without the zero byte at the end */
  char* ptr;
} TF_TString_Large;
typedef struct TF_TString_Offset {
  uint32_t size;
  uint32_t offset;
  uint32_t count;
} TF_TString_Offset;
typedef struct TF_TString_View {
  size_t size;
  const char* ptr;
} TF_TString_View;
typedef struct TF_TString_Raw {
  uint8_t raw[24];
} TF_TString_Raw;

typedef struct TF_TString {
  union {
    TF_TString_Small smll;
    TF_TString_Large large;
    TF_TString_Offset offset;
    TF_TString_View view;
    TF_TString_Raw raw;
  } u;
} TF_TString;

/* Makes an empty string of memory that holds none yet. */
TF_CAPI_EXPORT extern void TF_StringInit(TF_TString* t);
/* Lets `dst`, a string, hold a copy of the bytes. */
TF_CAPI_EXPORT extern void TF_StringCopy(TF_TString* dst, const char* src, size_t size);
/* Lets `dst` refer to the bytes, which must outlive it. */
TF_CAPI_EXPORT extern void TF_StringAssignView(TF_TString* dst, const char* src, size_t size);
TF_CAPI_EXPORT extern const char* TF_StringGetDataPointer(const TF_TString* tstr);
TF_CAPI_EXPORT extern TF_TString_Type TF_StringGetType(const TF_TString* str);
TF_CAPI_EXPORT extern size_t TF_StringGetSize(const TF_TString* tstr);
/* Bytes that fit without another allocation; 0 for strings that own nothing. */
TF_CAPI_EXPORT extern size_t TF_StringGetCapacity(const TF_TString* str);
/* Frees what the string owns; it is empty then. */
TF_CAPI_EXPORT extern void TF_StringDealloc(TF_TString* tstr);

TF_END_DECLS
