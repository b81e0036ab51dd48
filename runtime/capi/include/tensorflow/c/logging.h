/* Lines in the library's own log, by printf's formats. */
#pragma once

#include "tensorflow/c/c_api_macros.h"

TF_BEGIN_DECLS

typedef enum TF_LogLevel TF_INT_ENUM {
  TF_INFO = 0,
  TF_WARNING = 1,
  TF_ERROR = 2,
  TF_FATAL = 3, /* ends the process */
} TF_LogLevel;

TF_CAPI_EXPORT extern void TF_Log(TF_LogLevel level, const char* fmt, ...);
/* Level 0 is information; higher levels are written up to that in the variable
 * TF_CPP_MAX_VLOG_LEVEL. */
TF_CAPI_EXPORT extern void TF_VLog(int level, const char* fmt, ...);
/* As TF_VLog, in debug builds only. */
TF_CAPI_EXPORT extern void TF_DVLog(int level, const char* fmt, ...);

TF_END_DECLS
