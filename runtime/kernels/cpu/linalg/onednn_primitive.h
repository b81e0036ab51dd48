// A computation that oneDNN prepared for given shapes, to be run any number of times.
#pragma once

#include <memory>

#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cpu/linalg/onednn.h"

namespace tensorfleet::cpu {

// Runs on the calling thread alone. Thread-safe: what a run writes to is the caller's.
class OneDnnPrimitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_...
    const dnnl_memory_desc_t* layout;
    const void* data;  // written to when the primitive gives it out
  };

  // `operation` is one of oneDNN's descriptions of operations; a gradient also takes that of its
  // `forward` operation. Null when oneDNN has no vectorised implementation.
  static std::unique_ptr<const OneDnnPrimitive> Make(const_dnnl_op_desc_t operation,
                                                     const_dnnl_op_desc_t forward = nullptr);
  // Copies from DNNL_ARG_FROM to DNNL_ARG_TO. Null when oneDNN cannot.
  static std::unique_ptr<const OneDnnPrimitive> MakeReorder(const dnnl_memory_desc_t& from,
                                                            const dnnl_memory_desc_t& to);
  ~OneDnnPrimitive();
  OneDnnPrimitive(const OneDnnPrimitive&) = delete;
  OneDnnPrimitive& operator=(const OneDnnPrimitive&) = delete;

  // The layout that it chose for an argument that was left open.
  dnnl_memory_desc_t Layout(dnnl_query_t argument) const;
  size_t scratch_bytes() const { return scratch_bytes_; }
  // At most four arguments; `scratch` is scratch_bytes() large. Errors: Internal.
  Status Run(absl::Span<const Argument> arguments, void* scratch) const;

 private:
  OneDnnPrimitive() = default;
  // Takes over `description`; null unless it can be run.
  static std::unique_ptr<const OneDnnPrimitive> Of(dnnl_primitive_desc_t description);

  dnnl_primitive_desc_t description_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_desc_t scratch_layout_ = {};
  size_t scratch_bytes_ = 0;
};

// How many bytes a tensor takes in this layout.
size_t BytesOf(const dnnl_memory_desc_t& layout);

}  // namespace tensorfleet::cpu
