/* The outcome of a call. A TF_Status is made once and may be given to any number of calls, one
 * after the other: each leaves its own outcome in it. Not thread-safe. */
#pragma once

#include "tensorflow/c/c_api_macros.h"

TF_BEGIN_DECLS

/* gRPC's and TensorFlow's codes. */
typedef enum TF_Code TF_INT_ENUM {
  TF_OK = 0,
  TF_CANCELLED = 1,
  TF_UNKNOWN = 2,
  TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,
  TF_NOT_FOUND = 5,
  TF_ALREADY_EXISTS = 6,
  TF_PERMISSION_DENIED = 7,
  TF_RESOURCE_EXHAUSTED = 8,
  TF_FAILED_PRECONDITION = 9,
  TF_ABORTED = 10,
  TF_OUT_OF_RANGE = 11,
  TF_UNIMPLEMENTED = 12,
  TF_INTERNAL = 13,
  TF_UNAVAILABLE = 14,
  TF_DATA_LOSS = 15,
  TF_UNAUTHENTICATED = 16,
} TF_Code;

typedef struct TF_Status TF_Status;

/* TF_OK at first. */
TF_CAPI_EXPORT extern TF_Status* TF_NewStatus(void);
TF_CAPI_EXPORT extern void TF_DeleteStatus(TF_Status*);
/* Replaces what is there; for TF_OK the message is dropped. */
TF_CAPI_EXPORT extern void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg);
/* Facts beside the message, by key. A status that is TF_OK takes none. */
TF_CAPI_EXPORT extern void TF_SetPayload(TF_Status* s, const char* key, const char* value);
typedef void (*TF_PayloadVisitor)(const char* key, const char* value, void* capture);
TF_CAPI_EXPORT extern void TF_ForEachPayload(const TF_Status* s, TF_PayloadVisitor visitor,
                                             void* capture);
/* The code that an errno stands for, with `context` before the system's text. */
TF_CAPI_EXPORT extern void TF_SetStatusFromIOError(TF_Status* s, int error_code,
                                                   const char* context);
TF_CAPI_EXPORT extern TF_Code TF_GetCode(const TF_Status* s);
/* Valid until the status changes; empty for TF_OK. */
TF_CAPI_EXPORT extern const char* TF_Message(const TF_Status* s);

TF_END_DECLS
