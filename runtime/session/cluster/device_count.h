// ConfigProto.device_count: how many devices of each type a process makes when it starts.
#pragma once

#include "proto/config.pb.h"
#include "runtime/base/status.h"

namespace tensorfleet {

// The number of CPU devices that `config` asks for, 1 unless it says. Errors: InvalidArgument for
// less than 1 or more than kMaxCpuDevices. Other types say how many at most; there are none to
// limit.
StatusOr<int> CpuDevicesIn(const tensorflow::ConfigProto& config);

}  // namespace tensorfleet
