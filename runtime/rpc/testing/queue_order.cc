// For builds under ThreadSanitizer. Debian's gRPC is not instrumented; these functions stand before
// its own and say what cannot be seen there:
// - What a thread did before it gave gRPC a tag comes before what the thread does that gets the tag
//   back from a completion queue: the queue's locks and atomics order the two. No order is added
//   but that of a tag's way, and that of a slice from its making to its release.
// - What gRPC does by itself, on our threads and on its own, counts for no access: the order of
// that
//   is its own matter. Of ours, only the release of a sent tensor's bytes runs inside, and that is
//   watched; all else runs after a queue has given its tag back.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <sanitizer/tsan_interface.h>

#include <utility>

#include "runtime/base/testing/tsan_ignore.h"

using tensorfleet::TsanIgnore;
using tensorfleet::TsanWatch;

namespace {

// gRPC's own function of the name, with the type of the one that calls.
template <typename Function>
Function* Real(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Calls gRPC's own function, to which `tag` is given.
template <typename Function, typename... Args>
auto Give(Function* real, void* tag, Args... args) {
  __tsan_release(tag);
  const TsanIgnore inside;
  return real(args...);
}

// Calls gRPC's own function, which may give a tag back.
template <typename Function, typename... Args>
grpc_event Take(Function* real, Args... args) {
  const grpc_event event = [&] {
    const TsanIgnore inside;
    return real(args...);
  }();
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

// A function of C's kind with its argument.
struct Closure {
  void (*run)(void*);
  void* arg;
};

// A slice's bytes are let go of by whoever is the last to use it.
void ReleaseSlice(void* made) {
  const Closure release = [made] {
    const TsanIgnore ours_alone;
    auto* const closure = static_cast<Closure*>(made);
    const Closure copy = *closure;
    delete closure;
    return copy;
  }();
  __tsan_acquire(release.arg);
  const TsanWatch watch;
  release.run(release.arg);
}

void RunThread(void* made) {
  const TsanIgnore inside;
  auto* const closure = static_cast<Closure*>(made);
  const Closure body = *closure;
  delete closure;
  body.run(body.arg);
}

}  // namespace

#define TFLEET_REAL(name) static auto* const real = Real(&::name, #name)

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag,
                                      void* reserved) {
  TFLEET_REAL(grpc_call_start_batch);
  return Give(real, tag, call, ops, count, tag, reserved);
}

grpc_call_error grpc_server_request_call(grpc_server* server, grpc_call** call,
                                         grpc_call_details* details, grpc_metadata_array* metadata,
                                         grpc_completion_queue* call_queue,
                                         grpc_completion_queue* queue, void* tag) {
  TFLEET_REAL(grpc_server_request_call);
  return Give(real, tag, server, call, details, metadata, call_queue, queue, tag);
}

grpc_call_error grpc_server_request_registered_call(grpc_server* server, void* method,
                                                    grpc_call** call, gpr_timespec* deadline,
                                                    grpc_metadata_array* metadata,
                                                    grpc_byte_buffer** payload,
                                                    grpc_completion_queue* call_queue,
                                                    grpc_completion_queue* queue, void* tag) {
  TFLEET_REAL(grpc_server_request_registered_call);
  return Give(real, tag, server, method, call, deadline, metadata, payload, call_queue, queue, tag);
}

void grpc_server_shutdown_and_notify(grpc_server* server, grpc_completion_queue* queue, void* tag) {
  TFLEET_REAL(grpc_server_shutdown_and_notify);
  Give(real, tag, server, queue, tag);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  TFLEET_REAL(grpc_completion_queue_next);
  return Take(real, queue, deadline, reserved);
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  TFLEET_REAL(grpc_completion_queue_pluck);
  return Take(real, queue, tag, deadline, reserved);
}

void* gpr_malloc(size_t size) {
  TFLEET_REAL(gpr_malloc);
  const TsanIgnore inside;
  return real(size);
}

void* gpr_zalloc(size_t size) {
  TFLEET_REAL(gpr_zalloc);
  const TsanIgnore inside;
  return real(size);
}

void* gpr_realloc(void* block, size_t size) {
  TFLEET_REAL(gpr_realloc);
  const TsanIgnore inside;
  return real(block, size);
}

grpc_slice grpc_slice_new_with_user_data(void* bytes, size_t size, void (*release)(void*),
                                         void* arg) {
  TFLEET_REAL(grpc_slice_new_with_user_data);
  __tsan_release(arg);
  const TsanIgnore inside;
  return real(bytes, size, ReleaseSlice, new Closure{release, arg});
}

}  // extern "C"

// grpc_core::Thread's constructor: a thread of gRPC's own.
void MakeThread(void* self, const char* name, void (*body)(void*), void* arg, bool* success,
                const void* options) asm("_ZN9grpc_core6ThreadC1EPKcPFvPvES3_PbRKNS0_7OptionsE");
void MakeThread(void* self, const char* name, void (*body)(void*), void* arg, bool* success,
                const void* options) {
  static auto* const real =
      Real(&MakeThread, "_ZN9grpc_core6ThreadC1EPKcPFvPvES3_PbRKNS0_7OptionsE");
  const TsanIgnore inside;
  real(self, name, RunThread, new Closure{body, arg}, success, options);
}

// grpc::ClientContext's destructor: lets go of the channel, whose count is not seen.
void EndContext(void* self) asm("_ZN4grpc13ClientContextD1Ev");
void EndContext(void* self) {
  static auto* const real = Real(&EndContext, "_ZN4grpc13ClientContextD1Ev");
  const TsanIgnore inside;
  real(self);
}
