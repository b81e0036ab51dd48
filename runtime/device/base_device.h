// The device behind the name that a session knows it by.
#pragma once

#include "runtime/device/device.h"

namespace tensorfleet {

// `device` itself, or the one that MakeRenamedDevice was given.
Device* BaseDevice(Device* device);

}  // namespace tensorfleet
