#include "runtime/kernels/cpu/linalg/onednn.h"

#include <dlfcn.h>

#include "runtime/base/log.h"

namespace tensorfleet::cpu {
namespace {

// The name that programs linked against the library of this build would load it by.
constexpr char kLibrary[] = TFLEET_ONEDNN_LIBRARY;

// Null unless every function is there.
const OneDnn* Load() {
  static OneDnn onednn;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  bool is_whole = library != nullptr;
#define TFLEET_ONEDNN_LOAD(name)                                                          \
  if (is_whole) {                                                                         \
    onednn.name = reinterpret_cast<decltype(onednn.name)>(dlsym(library, "dnnl_" #name)); \
    is_whole = onednn.name != nullptr;                                                    \
  }
  TFLEET_ONEDNN_FUNCTIONS(TFLEET_ONEDNN_LOAD)
#undef TFLEET_ONEDNN_LOAD
  if (!is_whole) {
    const char* why = dlerror();
    LogWarning("oneDNN is missing; float matrix products and convolutions will be slower",
               {{"library", kLibrary}, {"error", why == nullptr ? "" : why}});
    return nullptr;
  }
  // Who makes primitives keeps them (see onednn_conv.cc); the library's own cache would keep them
  // a second time.
  onednn.set_primitive_cache_capacity(0);
  if (onednn.engine_create(&onednn.cpu, dnnl_cpu, 0) != dnnl_success) {
    LogWarning("oneDNN does not run on this processor", {{"library", kLibrary}});
    return nullptr;
  }
  return &onednn;
}

using SetThreadsFunction = void (*)(int);

// Part of OpenMP's run-time library, which oneDNN brings with it; null when it was built without.
SetThreadsFunction LoadSetThreads() {
  void* openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  return openmp == nullptr
             ? nullptr
             : reinterpret_cast<SetThreadsFunction>(dlsym(openmp, "omp_set_num_threads"));
}

class Stream {
 public:
  explicit Stream(const OneDnn& onednn) : onednn_(onednn) {
    if (onednn.stream_create(&stream_, onednn.cpu, dnnl_stream_default_flags) != dnnl_success) {
      stream_ = nullptr;  // whoever executes on it gets an error
    }
  }
  ~Stream() {
    if (stream_ != nullptr) onednn_.stream_destroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  dnnl_stream_t get() const { return stream_; }

 private:
  const OneDnn& onednn_;
  dnnl_stream_t stream_ = nullptr;
};

}  // namespace

const OneDnn* LoadedOneDnn() {
  static const OneDnn* const onednn = Load();
  static const SetThreadsFunction set_threads = LoadSetThreads();
  // OpenMP keeps the number for each thread that calls it.
  static thread_local bool is_single_threaded = false;
  if (!is_single_threaded) {
    if (set_threads != nullptr) set_threads(1);
    is_single_threaded = true;
  }
  return onednn;
}

dnnl_stream_t OneDnnStream() {
  static thread_local const Stream stream(*LoadedOneDnn());
  return stream.get();
}

}  // namespace tensorfleet::cpu
