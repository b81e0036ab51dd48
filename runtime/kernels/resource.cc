#include "runtime/kernels/resource.h"

namespace tensorfleet {

std::string Variable::DebugString() const {
  MutexLock lock(&mu_);
  return absl::StrCat("Variable ", DTypeName(dtype_), " ",
                      tensor_.is_valid() ? tensor_.shape().ToString() : "uninitialized");
}

StatusOr<Tensor*> Variable::Writable() {
  if (!tensor_.is_valid()) return FailedPrecondition("the variable is uninitialized");
  if (!tensor_.buffer_is_unique()) {
    TFLEET_ASSIGN_OR_RETURN(tensor_, tensor_.Clone());
  }
  return &tensor_;
}

}  // namespace tensorfleet
