#include "runtime/kernels/cpu/onednn.h"

#include <dlfcn.h>

#include "runtime/base/log.h"

namespace tensorfleet::cpu {
namespace {

// The name that programs linked against the library of this build would load it by.
constexpr char kLibrary[] = TFLEET_ONEDNN_LIBRARY;

SgemmFunction Load() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  void* sgemm = library == nullptr ? nullptr : dlsym(library, "dnnl_sgemm");
  if (sgemm == nullptr) {
    const char* why = dlerror();
    LogWarning("oneDNN is missing; float matrix products will be slower",
               {{"library", kLibrary}, {"error", why == nullptr ? "" : why}});
  }
  return reinterpret_cast<SgemmFunction>(sgemm);
}

using SetThreadsFunction = void (*)(int);

// Part of OpenMP's run-time library, which oneDNN brings with it; null when it was built without.
SetThreadsFunction LoadSetThreads() {
  void* openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  return openmp == nullptr
             ? nullptr
             : reinterpret_cast<SetThreadsFunction>(dlsym(openmp, "omp_set_num_threads"));
}

}  // namespace

SgemmFunction OneDnnSgemm() {
  static const SgemmFunction sgemm = Load();
  static const SetThreadsFunction set_threads = LoadSetThreads();
  // OpenMP keeps the number for each thread that calls it.
  static thread_local bool is_single_threaded = false;
  if (!is_single_threaded) {
    if (set_threads != nullptr) set_threads(1);
    is_single_threaded = true;
  }
  return sgemm;
}

}  // namespace tensorfleet::cpu
