// PJRT's C interface, as far as this program uses it: the layout in memory of the argument structs,
// and the places of the functions in a plug-in's table. Our own text for a binary interface that is
// fixed by its version (0.81 here; later ones only add fields and functions at the ends), so that
// the program builds without anybody's headers. c_api_test.cc compares it with the published header
// where there is one (`./dev setup --accelerators`).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorfleet::pjrt::c {

// Opaque objects of a plug-in.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct SerializedExecutable;

// How every argument struct begins. The size tells a plug-in which fields its caller knows.
struct Head {
  size_t struct_size = 0;
  void* extensions = nullptr;
};

struct Version : Head {
  int major = 0;
  int minor = 0;
};

struct Plugin_Api : Head {
  Version version;
  void* functions[1];  // see Function; as many as struct_size says
};

// Places in Plugin_Api::functions.
enum class Function : int {
  kErrorDestroy = 0,
  kErrorMessage = 1,
  kErrorGetCode = 2,
  kPluginInitialize = 3,
  kEventDestroy = 5,
  kEventIsReady = 6,
  kEventError = 7,
  kEventOnReady = 9,
  kClientCreate = 10,
  kClientPlatformName = 12,
  kClientPlatformVersion = 14,
  kClientAddressableDevices = 16,
  kClientCompile = 20,
  kClientBufferFromHostBuffer = 22,
  kDeviceDescriptionId = 23,
  kDeviceDescriptionAttributes = 25,
  kDeviceDescriptionKind = 26,
  kDeviceGetDescription = 29,
  kDeviceMemoryStats = 34,
  kExecutableDestroy = 40,
  kExecutableSerialize = 49,
  kLoadedExecutableDestroy = 50,
  kLoadedExecutableGetExecutable = 51,
  kLoadedExecutableExecute = 55,
  kExecutableDeserializeAndLoad = 56,
  kBufferDestroy = 58,
  kBufferDelete = 67,
  kBufferToHostBuffer = 70,
  kBufferReadyEvent = 72,
};

// The same numbers as absl::StatusCode.
using ErrorCode = int;

struct ErrorDestroyArgs : Head {
  Error* error = nullptr;
};
struct ErrorMessageArgs : Head {
  const Error* error = nullptr;
  const char* message = nullptr;  // out, as long-lived as the error
  size_t message_size = 0;        // out
};
struct ErrorGetCodeArgs : Head {
  const Error* error = nullptr;
  ErrorCode code = 0;  // out
};

enum class ValueType : int { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };
struct NamedValue : Head {
  const char* name = nullptr;
  size_t name_size = 0;
  ValueType type = ValueType::kString;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 0;  // elements of a string or list, else 1
};

struct PluginInitializeArgs : Head {};

struct EventArgs : Head {
  Event* event = nullptr;
};
struct EventIsReadyArgs : Head {
  Event* event = nullptr;
  bool is_ready = false;  // out
};
struct EventOnReadyArgs : Head {
  Event* event = nullptr;
  void (*callback)(Error* error, void* user_arg) = nullptr;  // owns the error
  void* user_arg = nullptr;
};

struct ClientCreateArgs : Head {
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  void* kv_get = nullptr;
  void* kv_get_arg = nullptr;
  void* kv_put = nullptr;
  void* kv_put_arg = nullptr;
  Client* client = nullptr;  // out
  void* kv_try_get = nullptr;
  void* kv_try_get_arg = nullptr;
};
struct ClientTextArgs : Head {  // kClientPlatformName, kClientPlatformVersion
  Client* client = nullptr;
  const char* text = nullptr;  // out
  size_t text_size = 0;        // out
};
struct ClientDevicesArgs : Head {
  Client* client = nullptr;
  Device* const* devices = nullptr;  // out
  size_t num_devices = 0;            // out
};

struct Program : Head {
  char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};
struct ClientCompileArgs : Head {
  Client* client = nullptr;
  const Program* program = nullptr;
  const char* options = nullptr;  // a serialized CompileOptionsProto
  size_t options_size = 0;
  LoadedExecutable* executable = nullptr;  // out
};

enum class BufferType : int {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 13,
  kC64 = 14,
  kC128 = 15,
};
enum class HostBufferSemantics : int {
  kImmutableOnlyDuringCall = 0,
  kImmutableUntilTransferCompletes = 1,
};
struct BufferFromHostBufferArgs : Head {
  Client* client = nullptr;
  const void* data = nullptr;
  BufferType type = BufferType::kInvalid;
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* byte_strides = nullptr;
  size_t num_byte_strides = 0;
  HostBufferSemantics semantics = HostBufferSemantics::kImmutableOnlyDuringCall;
  Device* device = nullptr;
  Memory* memory = nullptr;
  void* layout = nullptr;
  Event* done_with_host_buffer = nullptr;  // out
  Buffer* buffer = nullptr;                // out
};

struct DeviceDescriptionIdArgs : Head {
  DeviceDescription* description = nullptr;
  int id = 0;  // out
};
struct DeviceDescriptionAttributesArgs : Head {
  DeviceDescription* description = nullptr;
  size_t num_attributes = 0;               // out
  const NamedValue* attributes = nullptr;  // out
};
struct DeviceDescriptionKindArgs : Head {
  DeviceDescription* description = nullptr;
  const char* kind = nullptr;  // out
  size_t kind_size = 0;        // out
};
struct DeviceGetDescriptionArgs : Head {
  Device* device = nullptr;
  DeviceDescription* description = nullptr;  // out
};
// Of the many statistics only the first and the limit; the plug-in is told the full size.
struct DeviceMemoryStatsArgs : Head {
  Device* device = nullptr;
  int64_t bytes_in_use = 0;  // out, as all that follows
  struct Optional {
    int64_t value = 0;
    bool is_set = false;
  };
  Optional peak_bytes_in_use, num_allocs, largest_alloc_size, bytes_limit, bytes_reserved,
      peak_bytes_reserved, bytes_reservable_limit, largest_free_block_bytes, pool_bytes,
      peak_pool_bytes;
};

struct LoadedExecutableArgs : Head {
  LoadedExecutable* executable = nullptr;
};
struct ExecutableArgs : Head {
  Executable* executable = nullptr;
};
struct LoadedExecutableGetExecutableArgs : Head {
  LoadedExecutable* loaded = nullptr;
  Executable* executable = nullptr;  // out
};
struct ExecutableSerializeArgs : Head {
  const Executable* executable = nullptr;
  const char* bytes = nullptr;                       // out, as long-lived as `serialized`
  size_t bytes_size = 0;                             // out
  SerializedExecutable* serialized = nullptr;        // out
  void (*destroy)(SerializedExecutable*) = nullptr;  // out, called once
};
struct ExecutableDeserializeAndLoadArgs : Head {
  Client* client = nullptr;
  const char* bytes = nullptr;
  size_t bytes_size = 0;
  LoadedExecutable* executable = nullptr;  // out
  const char* options = nullptr;           // null: those that it was compiled with
  size_t options_size = 0;
};
struct ExecuteOptions : Head {
  void** send_callbacks = nullptr;
  void** recv_callbacks = nullptr;
  size_t num_send_ops = 0;
  size_t num_recv_ops = 0;
  int launch_id = 0;
  const int64_t* non_donatable_inputs = nullptr;
  size_t num_non_donatable_inputs = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int* task_ids = nullptr;
  int64_t* incarnations = nullptr;
};
struct ExecuteArgs : Head {
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* arguments = nullptr;
  size_t num_devices = 0;
  size_t num_args = 0;
  Buffer** const* outputs = nullptr;  // filled
  Event** complete_events = nullptr;  // filled when not null
  Device* device = nullptr;
};

struct BufferArgs : Head {
  Buffer* buffer = nullptr;
};
struct BufferToHostBufferArgs : Head {
  Buffer* source = nullptr;
  void* layout = nullptr;
  void* destination = nullptr;
  size_t size = 0;
  Event* event = nullptr;  // out
};
struct BufferReadyEventArgs : Head {
  Buffer* buffer = nullptr;
  Event* event = nullptr;  // out
};

}  // namespace tensorfleet::pjrt::c
