// The state behind the TensorArray ops, with which v1 loops read and write tensors by number. Lives
// within a step. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::cpu {

class TensorArray final : public Resource {
 public:
  struct Options {
    std::string name;
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    bool can_grow = false;
    bool clears_after_read = true;
    bool has_one_shape = false;  // all elements have the shape of the first that is written
    bool adds_up = false;        // a second write is added: gradients
  };
  TensorArray(const Options& options, int64_t size)
      : name_(options.name),
        dtype_(options.dtype),
        clears_after_read_(options.clears_after_read),
        has_one_shape_(options.has_one_shape),
        adds_up_(options.adds_up),
        element_shape_(options.element_shape),
        can_grow_(options.can_grow),
        elements_(size) {}
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  int64_t size() const;
  PartialShape element_shape() const;

  // Errors: InvalidArgument for a wrong dtype, shape or index, or an element that has been written
  // or read already.
  Status Write(int64_t index, Tensor value);
  // An element that was never written reads as zeros when the shape is known. Errors:
  // InvalidArgument.
  StatusOr<Tensor> Read(int64_t index);
  // What is known of the elements' shape, from now on too. Errors: InvalidArgument.
  Status MergeElementShape(const PartialShape& shape);
  // The options of an array for the gradients, which is as big as this one is now: this one no
  // longer grows.
  Options ForGradients(const std::string& source, int64_t* size);

  static constexpr int64_t kMaxElements = int64_t{1} << 26;

 private:
  struct Element {
    Tensor value;
    bool is_written = false;
    bool is_read = false;
    bool is_cleared = false;
  };
  Status MakeRoom(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  const DType dtype_;
  const bool clears_after_read_, has_one_shape_, adds_up_;
  mutable Mutex mu_;
  PartialShape element_shape_ ABSL_GUARDED_BY(mu_);
  bool can_grow_ ABSL_GUARDED_BY(mu_);
  std::vector<Element> elements_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensorfleet::cpu
