// What an element of a `resource` tensor holds: the name of a piece of state on some device. The
// state itself is found through the resource manager of that device
// (runtime/kernels/resource_manager.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tensorfleet {

class ResourceHandle {
 public:
  std::string device;     // full name, "/job:ps/replica:0/task:0/device:CPU:0"
  std::string container;  // "" never: the default container is spelled out
  std::string name;
  uint64_t hash_code = 0;  // of the type; informative
  std::string type_name;   // TensorFlow's mangled spelling, for example "N10tensorflow3VarE"
  struct DTypeAndShape {
    DType dtype;
    PartialShape shape;
  };
  std::vector<DTypeAndShape> dtypes_and_shapes;  // of the value behind a variable's handle
};

}  // namespace tensorfleet
