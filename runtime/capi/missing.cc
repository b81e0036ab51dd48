// Parts of the interface that are not there: they say so, and touch nothing.
#include "runtime/capi/boundary.h"
#include "tensorflow/c/c_api_experimental.h"

using tensorfleet::capi::NotThere;

namespace {

constexpr char kSessionsByName[] =
    "sessions by name are TensorFlow's oldest interface; make a TF_Graph and use TF_NewSession";
constexpr char kLibraries[] =
    "libraries of ops for TensorFlow's C++ interface cannot be loaded; `tensorfleet ops` lists the "
    "ops that are there";
constexpr char kApiDefs[] = "the documentation of ops for generators of code is not kept here";
constexpr char kFileSystems[] =
    "file systems are part of the library: local paths and s3:// are there";

}  // namespace

extern "C" {

TF_DeprecatedSession* TF_NewDeprecatedSession(const TF_SessionOptions*, TF_Status* status) {
  NotThere(status, "TF_NewDeprecatedSession", kSessionsByName);
  return nullptr;
}

void TF_CloseDeprecatedSession(TF_DeprecatedSession*, TF_Status* status) {
  NotThere(status, "TF_CloseDeprecatedSession", kSessionsByName);
}

void TF_DeleteDeprecatedSession(TF_DeprecatedSession*, TF_Status* status) {
  NotThere(status, "TF_DeleteDeprecatedSession", kSessionsByName);
}

void TF_Reset(const TF_SessionOptions*, const char**, int, TF_Status* status) {
  NotThere(status, "TF_Reset", "restart the servers to drop their variables");
}

void TF_ExtendGraph(TF_DeprecatedSession*, const void*, size_t, TF_Status* status) {
  NotThere(status, "TF_ExtendGraph", kSessionsByName);
}

void TF_Run(TF_DeprecatedSession*, const TF_Buffer*, const char**, TF_Tensor**, int, const char**,
            TF_Tensor**, int, const char**, int, TF_Buffer*, TF_Status* status) {
  NotThere(status, "TF_Run", kSessionsByName);
}

void TF_PRunSetup(TF_DeprecatedSession*, const char**, int, const char**, int, const char**, int,
                  const char**, TF_Status* status) {
  NotThere(status, "TF_PRunSetup", kSessionsByName);
}

void TF_PRun(TF_DeprecatedSession*, const char*, const char**, TF_Tensor**, int, const char**,
             TF_Tensor**, int, const char**, int, TF_Status* status) {
  NotThere(status, "TF_PRun", kSessionsByName);
}

TF_DeviceList* TF_DeprecatedSessionListDevices(TF_DeprecatedSession*, TF_Status* status) {
  NotThere(status, "TF_DeprecatedSessionListDevices", kSessionsByName);
  return nullptr;
}

TF_Library* TF_LoadLibrary(const char*, TF_Status* status) {
  NotThere(status, "TF_LoadLibrary", kLibraries);
  return nullptr;
}

TF_Buffer TF_GetOpList(TF_Library*) { return {nullptr, 0, nullptr}; }

void TF_DeleteLibraryHandle(TF_Library*) {}

TF_ApiDefMap* TF_NewApiDefMap(TF_Buffer*, TF_Status* status) {
  NotThere(status, "TF_NewApiDefMap", kApiDefs);
  return nullptr;
}

void TF_DeleteApiDefMap(TF_ApiDefMap*) {}

void TF_ApiDefMapPut(TF_ApiDefMap*, const char*, size_t, TF_Status* status) {
  NotThere(status, "TF_ApiDefMapPut", kApiDefs);
}

TF_Buffer* TF_ApiDefMapGet(TF_ApiDefMap*, const char*, size_t, TF_Status* status) {
  NotThere(status, "TF_ApiDefMapGet", kApiDefs);
  return nullptr;
}

void TF_RegisterFilesystemPlugin(const char*, TF_Status* status) {
  NotThere(status, "TF_RegisterFilesystemPlugin", kFileSystems);
}

TF_Library* TF_LoadPluggableDeviceLibrary(const char*, TF_Status* status) {
  NotThere(status, "TF_LoadPluggableDeviceLibrary",
           "devices come to servers as PJRT plug-ins (tensorfleet server --help)");
  return nullptr;
}

void TF_DeletePluggableDeviceLibraryHandle(TF_Library*) {}

}  // extern "C"
