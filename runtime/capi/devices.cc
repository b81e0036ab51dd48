// TF_DeviceList: the devices that a session may use.
#include <memory>
#include <vector>

#include "proto/device.pb.h"
#include "runtime/capi/session.h"

struct TF_DeviceList {
  std::vector<tensorflow::DeviceAttributes> devices;
};

namespace tensorfleet::capi {
namespace {

StatusOr<const tensorflow::DeviceAttributes*> At(const TF_DeviceList* list, int index) {
  TFLEET_RETURN_IF_ERROR(NotNull(list, "list"));
  const int count = static_cast<int>(list->devices.size());
  if (index < 0 || index >= count) {
    return InvalidArgument("index ", index, " is out of bounds: there are ", count, " devices");
  }
  return &list->devices[index];
}

}  // namespace
}  // namespace tensorfleet::capi

using namespace tensorfleet;        // NOLINT: the functions of C are outside of it
using namespace tensorfleet::capi;  // NOLINT

extern "C" {

TF_DeviceList* TF_SessionListDevices(TF_Session* session, TF_Status* status) {
  return EnterFor<TF_DeviceList*>(status, nullptr, [&]() -> StatusOr<TF_DeviceList*> {
    TFLEET_NOT_NULL(session);
    {
      // A server knows the session once it has been sent a graph.
      MutexLock lock(&session->graph->mu);
      TFLEET_RETURN_IF_ERROR(SendNew(*session));
    }
    auto list = std::make_unique<TF_DeviceList>();
    TFLEET_ASSIGN_OR_RETURN(list->devices, session->session->ListDevices());
    return list.release();
  });
}

void TF_DeleteDeviceList(TF_DeviceList* list) { delete list; }

int TF_DeviceListCount(const TF_DeviceList* list) {
  return list == nullptr ? 0 : static_cast<int>(list->devices.size());
}

const char* TF_DeviceListName(const TF_DeviceList* list, int index, TF_Status* status) {
  return EnterFor<const char*>(status, nullptr, [&]() -> StatusOr<const char*> {
    TFLEET_ASSIGN_OR_RETURN(const auto* device, At(list, index));
    return device->name().c_str();
  });
}

const char* TF_DeviceListType(const TF_DeviceList* list, int index, TF_Status* status) {
  return EnterFor<const char*>(status, nullptr, [&]() -> StatusOr<const char*> {
    TFLEET_ASSIGN_OR_RETURN(const auto* device, At(list, index));
    return device->device_type().c_str();
  });
}

int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index, TF_Status* status) {
  return EnterFor<int64_t>(status, -1, [&]() -> StatusOr<int64_t> {
    TFLEET_ASSIGN_OR_RETURN(const auto* device, At(list, index));
    return device->memory_limit();
  });
}

uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index, TF_Status* status) {
  return EnterFor<uint64_t>(status, 0, [&]() -> StatusOr<uint64_t> {
    TFLEET_ASSIGN_OR_RETURN(const auto* device, At(list, index));
    return device->incarnation();
  });
}

}  // extern "C"
