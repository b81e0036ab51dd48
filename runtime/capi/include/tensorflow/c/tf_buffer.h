/* Bytes, usually of a serialized message, with what frees them. */
#pragma once

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

TF_BEGIN_DECLS

typedef struct TF_Buffer {
  const void* data;
  size_t length;
  /* Called with data and length when the buffer goes; NULL: the bytes belong to somebody else. */
  void (*data_deallocator)(void* data, size_t length);
} TF_Buffer;

/* A buffer with a copy of the bytes. NULL when there is no memory for it. */
TF_CAPI_EXPORT extern TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len);
/* An empty one: what functions that give out a message want. */
TF_CAPI_EXPORT extern TF_Buffer* TF_NewBuffer(void);
TF_CAPI_EXPORT extern void TF_DeleteBuffer(TF_Buffer*);
/* The three fields as they are; ownership stays with the buffer. */
TF_CAPI_EXPORT extern TF_Buffer TF_GetBuffer(TF_Buffer* buffer);

TF_END_DECLS
