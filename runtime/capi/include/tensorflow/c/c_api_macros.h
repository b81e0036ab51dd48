/* How the functions of this interface are declared. */
#pragma once

/* Seen from outside the shared library, whatever the default of a translation unit is. */
#define TF_CAPI_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
#define TF_BEGIN_DECLS extern "C" {
#define TF_END_DECLS }
/* Enumerations hold any int, also where a program passes a number that has no name. */
#define TF_INT_ENUM : int
#else
#define TF_BEGIN_DECLS
#define TF_END_DECLS
#define TF_INT_ENUM
#endif

/* A truth value of the interface: 0 or 1. */
#define TF_Bool unsigned char
