// oneDNN's C interface, loaded when the first big enough computation asks for it: a server that
// multiplies no matrices neither waits for the library at start nor keeps it in memory.
#pragma once

#include <oneapi/dnnl/dnnl.h>

namespace tensorfleet::cpu {

// The functions in use, by their names without `dnnl_`.
#define TFLEET_ONEDNN_FUNCTIONS(F)               \
  F(sgemm)                                       \
  F(engine_create)                               \
  F(stream_create)                               \
  F(stream_destroy)                              \
  F(memory_create)                               \
  F(memory_destroy)                              \
  F(memory_desc_init_by_strides)                 \
  F(memory_desc_init_by_tag)                     \
  F(memory_desc_get_size)                        \
  F(memory_desc_equal)                           \
  F(primitive_attr_create)                       \
  F(primitive_attr_destroy)                      \
  F(primitive_attr_set_scratchpad_mode)          \
  F(primitive_desc_create)                       \
  F(primitive_desc_destroy)                      \
  F(primitive_desc_query)                        \
  F(primitive_desc_query_md)                     \
  F(primitive_create)                            \
  F(primitive_execute)                           \
  F(primitive_destroy)                           \
  F(reorder_primitive_desc_create)               \
  F(set_primitive_cache_capacity)                \
  F(dilated_convolution_forward_desc_init)       \
  F(dilated_convolution_backward_data_desc_init) \
  F(dilated_convolution_backward_weights_desc_init)

struct OneDnn {
#define TFLEET_ONEDNN_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  TFLEET_ONEDNN_FUNCTIONS(TFLEET_ONEDNN_MEMBER)
#undef TFLEET_ONEDNN_MEMBER
  dnnl_engine_t cpu = nullptr;
};

// Null when the library cannot be loaded, which is logged once; callers then do without it.
// Thread-safe. Switches off the library's own threads on the calling thread: our pool divides the
// work. Call it on each thread that is to compute.
const OneDnn* LoadedOneDnn();

// The calling thread's own stream. The library is loaded.
dnnl_stream_t OneDnnStream();

}  // namespace tensorfleet::cpu
