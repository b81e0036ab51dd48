// Our text of the PJRT interface against the published header, where it is there.
#include "runtime/pjrt/c_api.h"

#include <gtest/gtest.h>

#if __has_include(TENSORFLEET_PJRT_HEADER)
#include TENSORFLEET_PJRT_HEADER

namespace tensorfleet::pjrt {
namespace {

// Offset of a function of the table, in functions.
#define PLACE(name) \
  ((offsetof(PJRT_Api, name) - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void*))
#define EXPECT_PLACE(ours, name) EXPECT_EQ(static_cast<size_t>(c::Function::ours), PLACE(name))

TEST(CApi, FunctionsAreInTheirPlaces) {
  EXPECT_EQ(sizeof(c::Head) + sizeof(c::Version), offsetof(PJRT_Api, PJRT_Error_Destroy));
  EXPECT_PLACE(kErrorDestroy, PJRT_Error_Destroy);
  EXPECT_PLACE(kErrorMessage, PJRT_Error_Message);
  EXPECT_PLACE(kErrorGetCode, PJRT_Error_GetCode);
  EXPECT_PLACE(kPluginInitialize, PJRT_Plugin_Initialize);
  EXPECT_PLACE(kEventDestroy, PJRT_Event_Destroy);
  EXPECT_PLACE(kEventOnReady, PJRT_Event_OnReady);
  EXPECT_PLACE(kClientCreate, PJRT_Client_Create);
  EXPECT_PLACE(kClientPlatformName, PJRT_Client_PlatformName);
  EXPECT_PLACE(kClientPlatformVersion, PJRT_Client_PlatformVersion);
  EXPECT_PLACE(kClientAddressableDevices, PJRT_Client_AddressableDevices);
  EXPECT_PLACE(kClientCompile, PJRT_Client_Compile);
  EXPECT_PLACE(kClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer);
  EXPECT_PLACE(kDeviceDescriptionId, PJRT_DeviceDescription_Id);
  EXPECT_PLACE(kDeviceDescriptionAttributes, PJRT_DeviceDescription_Attributes);
  EXPECT_PLACE(kDeviceDescriptionKind, PJRT_DeviceDescription_Kind);
  EXPECT_PLACE(kDeviceGetDescription, PJRT_Device_GetDescription);
  EXPECT_PLACE(kDeviceMemoryStats, PJRT_Device_MemoryStats);
  EXPECT_PLACE(kLoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy);
  EXPECT_PLACE(kLoadedExecutableExecute, PJRT_LoadedExecutable_Execute);
  EXPECT_PLACE(kExecutableDestroy, PJRT_Executable_Destroy);
  EXPECT_PLACE(kExecutableSerialize, PJRT_Executable_Serialize);
  EXPECT_PLACE(kLoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable);
  EXPECT_PLACE(kExecutableDeserializeAndLoad, PJRT_Executable_DeserializeAndLoad);
  EXPECT_PLACE(kBufferDestroy, PJRT_Buffer_Destroy);
  EXPECT_PLACE(kBufferToHostBuffer, PJRT_Buffer_ToHostBuffer);
}

// How far into our struct a field is.
template <typename T, typename F>
size_t At(F T::*field) {
  const T args{};
  return reinterpret_cast<const char*>(&(args.*field)) - reinterpret_cast<const char*>(&args);
}
#define EXPECT_FIELD(ours, field, theirs, their_field) \
  EXPECT_EQ(At(&c::ours::field), offsetof(theirs, their_field))
#define EXPECT_SIZE(ours, theirs) EXPECT_EQ(sizeof(c::ours), sizeof(theirs))

TEST(CApi, ArgumentsLieAsThePluginReadsThem) {
  EXPECT_SIZE(ErrorMessageArgs, PJRT_Error_Message_Args);
  EXPECT_FIELD(ErrorGetCodeArgs, code, PJRT_Error_GetCode_Args, code);
  EXPECT_SIZE(NamedValue, PJRT_NamedValue);
  EXPECT_FIELD(NamedValue, type, PJRT_NamedValue, type);
  EXPECT_FIELD(NamedValue, value_size, PJRT_NamedValue, value_size);
  EXPECT_SIZE(EventOnReadyArgs, PJRT_Event_OnReady_Args);
  EXPECT_SIZE(ClientCreateArgs, PJRT_Client_Create_Args);
  EXPECT_FIELD(ClientCreateArgs, client, PJRT_Client_Create_Args, client);
  EXPECT_SIZE(ClientDevicesArgs, PJRT_Client_AddressableDevices_Args);
  EXPECT_SIZE(Program, PJRT_Program);
  EXPECT_SIZE(ClientCompileArgs, PJRT_Client_Compile_Args);
  EXPECT_FIELD(ClientCompileArgs, executable, PJRT_Client_Compile_Args, executable);
  EXPECT_SIZE(BufferFromHostBufferArgs, PJRT_Client_BufferFromHostBuffer_Args);
  EXPECT_FIELD(BufferFromHostBufferArgs, semantics, PJRT_Client_BufferFromHostBuffer_Args,
               host_buffer_semantics);
  EXPECT_FIELD(BufferFromHostBufferArgs, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
  EXPECT_SIZE(DeviceMemoryStatsArgs, PJRT_Device_MemoryStats_Args);
  EXPECT_FIELD(DeviceMemoryStatsArgs, bytes_limit, PJRT_Device_MemoryStats_Args, bytes_limit);
  EXPECT_SIZE(DeviceDescriptionAttributesArgs, PJRT_DeviceDescription_Attributes_Args);
  EXPECT_FIELD(DeviceDescriptionAttributesArgs, attributes, PJRT_DeviceDescription_Attributes_Args,
               attributes);
  EXPECT_SIZE(DeviceDescriptionKindArgs, PJRT_DeviceDescription_Kind_Args);
  EXPECT_SIZE(ExecuteOptions, PJRT_ExecuteOptions);
  EXPECT_FIELD(ExecuteOptions, non_donatable_inputs, PJRT_ExecuteOptions,
               non_donatable_input_indices);
  EXPECT_SIZE(ExecuteArgs, PJRT_LoadedExecutable_Execute_Args);
  EXPECT_FIELD(ExecuteArgs, outputs, PJRT_LoadedExecutable_Execute_Args, output_lists);
  EXPECT_FIELD(ExecuteArgs, device, PJRT_LoadedExecutable_Execute_Args, execute_device);
  EXPECT_SIZE(BufferToHostBufferArgs, PJRT_Buffer_ToHostBuffer_Args);
  EXPECT_SIZE(LoadedExecutableGetExecutableArgs, PJRT_LoadedExecutable_GetExecutable_Args);
  EXPECT_SIZE(ExecutableSerializeArgs, PJRT_Executable_Serialize_Args);
  EXPECT_FIELD(ExecutableSerializeArgs, destroy, PJRT_Executable_Serialize_Args,
               serialized_executable_deleter);
  EXPECT_SIZE(ExecutableDeserializeAndLoadArgs, PJRT_Executable_DeserializeAndLoad_Args);
  EXPECT_FIELD(ExecutableDeserializeAndLoadArgs, executable,
               PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
  EXPECT_EQ(static_cast<int>(c::BufferType::kBF16), PJRT_Buffer_Type_BF16);
  EXPECT_EQ(static_cast<int>(c::BufferType::kC128), PJRT_Buffer_Type_C128);
  EXPECT_EQ(static_cast<int>(c::HostBufferSemantics::kImmutableUntilTransferCompletes),
            PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
}

}  // namespace
}  // namespace tensorfleet::pjrt
#else
TEST(CApi, MatchesThePublishedHeader) {
  GTEST_SKIP() << "there is no pjrt_c_api.h: ./dev setup --accelerators fetches it";
}
#endif
