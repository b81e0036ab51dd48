/* What programs that are written for TensorFlow ask for beside c_api.h. */
#pragma once

#include "tensorflow/c/c_api.h"

TF_BEGIN_DECLS

/* Devices as TensorFlow's plug-ins: TF_UNIMPLEMENTED. Servers load PJRT plug-ins instead. */
TF_CAPI_EXPORT extern TF_Library* TF_LoadPluggableDeviceLibrary(const char* library_filename,
                                                                TF_Status* status);
TF_CAPI_EXPORT extern void TF_DeletePluggableDeviceLibraryHandle(TF_Library* lib_handle);

TF_END_DECLS
