// Shapes written down in tests. The server has no way to end itself over a shape: it does not link
// this file.
#include "runtime/tensor/shape.h"

namespace tensorfleet {

Shape::Shape(std::initializer_list<int64_t> dims) {
  StatusOr<Shape> made = Make(absl::MakeConstSpan(dims.begin(), dims.size()));
  TFLEET_CHECK(made.ok());
  *this = *std::move(made);
}

}  // namespace tensorfleet
