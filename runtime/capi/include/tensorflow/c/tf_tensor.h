/* Tensors: elements of one type in row-major order. Elements of a TF_STRING tensor are TF_TString
 * objects (tf_tstring.h). Handles and variants that a session gave out can only be fed again: they
 * have no data and zero bytes here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

TF_BEGIN_DECLS

typedef struct TF_Tensor TF_Tensor;

/* A tensor over `len` bytes at `data`, which `deallocator` gets back when nobody uses them any
 * more: a session may, after TF_DeleteTensor. Bytes that are not aligned to 64 are copied, and
 * given back at once. NULL, with the bytes given back, when `len` is not what type and shape need.
 */
TF_CAPI_EXPORT extern TF_Tensor* TF_NewTensor(
    TF_DataType, const int64_t* dims, int num_dims, void* data, size_t len,
    void (*deallocator)(void* data, size_t len, void* arg), void* deallocator_arg);
/* The same over aligned memory that is taken here, to be written through TF_TensorData; strings are
 * empty ones. */
TF_CAPI_EXPORT extern TF_Tensor* TF_AllocateTensor(TF_DataType, const int64_t* dims, int num_dims,
                                                   size_t len);
/* Another TF_Tensor with the contents of `tensor`, which goes; NULL, and nothing happens, when
 * others use the memory or it belongs to the caller. */
TF_CAPI_EXPORT extern TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor);
TF_CAPI_EXPORT extern void TF_DeleteTensor(TF_Tensor*);
TF_CAPI_EXPORT extern TF_DataType TF_TensorType(const TF_Tensor*);
/* Gives the elements another shape of as many elements; another number changes nothing. */
TF_CAPI_EXPORT extern void TF_SetShape(TF_Tensor* tensor, const int64_t* dims, int num_dims);
TF_CAPI_EXPORT extern int TF_NumDims(const TF_Tensor*);
/* -1 for a dimension that there is not. */
TF_CAPI_EXPORT extern int64_t TF_Dim(const TF_Tensor* tensor, int dim_index);
TF_CAPI_EXPORT extern size_t TF_TensorByteSize(const TF_Tensor*);
TF_CAPI_EXPORT extern void* TF_TensorData(const TF_Tensor*);
TF_CAPI_EXPORT extern int64_t TF_TensorElementCount(const TF_Tensor* tensor);
/* Lets `to` share the bytes of `from` as elements of another type and shape, which must take as
 * many bytes. Both types must have a size. */
TF_CAPI_EXPORT extern void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type,
                                                TF_Tensor* to, const int64_t* new_dims,
                                                int num_new_dims, TF_Status* status);
TF_CAPI_EXPORT extern bool TF_TensorIsAligned(const TF_Tensor*);

TF_END_DECLS
