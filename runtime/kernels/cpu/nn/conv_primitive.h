// A convolution, or one of its gradients, as oneDNN computes it on one thread.
#pragma once

#include <memory>

#include "runtime/kernels/cpu/linalg/onednn_primitive.h"
#include "runtime/kernels/cpu/nn/conv_plan.h"

namespace tensorfleet::cpu {

enum class ConvPass { kForward, kImageGradient, kFilterGradient };

// Made once for a shape and kept; thread-safe. The filter, or its gradient, is in an order that
// suits the processor ("packed").
class ConvPrimitive {
 public:
  // Null when oneDNN is missing or has no vectorised code for these shapes. The last few hundred
  // are kept in memory.
  static std::shared_ptr<const ConvPrimitive> Find(ConvPass pass, const ConvPlan& plan);

  size_t packed_bytes() const { return BytesOf(packed_); }
  size_t scratch_bytes() const {
    return std::max(convolution_->scratch_bytes(), reorder_->scratch_bytes());
  }
  bool PacksAs(const ConvPrimitive& other) const {
    return LoadedOneDnn()->memory_desc_equal(&packed_, &other.packed_) != 0;
  }
  // From the filter as TensorFlow orders it, and, of a filter's gradient, back to it.
  Status Pack(const float* filter, void* packed, void* scratch) const;
  Status Unpack(const void* packed, float* filter, void* scratch) const;
  // Writes `out` in the forward pass, `image` or `packed` in the passes for their gradients.
  Status Run(const float* image, const void* packed, const float* out, void* scratch) const;

 private:
  ConvPrimitive() = default;
  static std::shared_ptr<const ConvPrimitive> Make(ConvPass pass, const ConvPlan& plan);

  ConvPass pass_ = ConvPass::kForward;
  std::unique_ptr<const OneDnnPrimitive> convolution_, reorder_;
  dnnl_memory_desc_t image_ = {}, filter_ = {}, packed_ = {}, out_ = {};
};

}  // namespace tensorfleet::cpu
