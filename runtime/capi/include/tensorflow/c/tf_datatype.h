/* The types of a tensor's elements, numbered as in TensorFlow's messages. */
#pragma once

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

TF_BEGIN_DECLS

typedef enum TF_DataType TF_INT_ENUM {
  TF_FLOAT = 1,
  TF_DOUBLE = 2,
  TF_INT32 = 3,
  TF_UINT8 = 4,
  TF_INT16 = 5,
  TF_INT8 = 6,
  TF_STRING = 7,
  TF_COMPLEX64 = 8,
  TF_COMPLEX = TF_COMPLEX64, /* an older name */
  TF_INT64 = 9,
  TF_BOOL = 10,
  TF_QINT8 = 11,
  TF_QUINT8 = 12,
  TF_QINT32 = 13,
  TF_BFLOAT16 = 14,
  TF_QINT16 = 15,
  TF_QUINT16 = 16,
  TF_UINT16 = 17,
  TF_COMPLEX128 = 18,
  TF_HALF = 19,
  TF_RESOURCE = 20,
  TF_VARIANT = 21,
  TF_UINT32 = 22,
  TF_UINT64 = 23,
  TF_FLOAT8_E5M2 = 24,
  TF_FLOAT8_E4M3FN = 25,
  TF_INT4 = 29,
  TF_UINT4 = 30,
} TF_DataType;

/* Bytes of one element; 0 for strings, handles, variants, and for what is no type. */
TF_CAPI_EXPORT extern size_t TF_DataTypeSize(TF_DataType dt);

TF_END_DECLS
