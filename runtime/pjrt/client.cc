#include "runtime/pjrt/client.h"

#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/small_file.h"
#include "runtime/pjrt/device_buffer.h"
#include "runtime/pjrt/device_metrics.h"

namespace tensorfleet::pjrt {
namespace {

using c::BufferType;
using c::Function;

BufferType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return BufferType::kPred;
    case DType::kInt8:
      return BufferType::kS8;
    case DType::kInt16:
      return BufferType::kS16;
    case DType::kInt32:
      return BufferType::kS32;
    case DType::kInt64:
      return BufferType::kS64;
    case DType::kUInt8:
      return BufferType::kU8;
    case DType::kUInt16:
      return BufferType::kU16;
    case DType::kUInt32:
      return BufferType::kU32;
    case DType::kUInt64:
      return BufferType::kU64;
    case DType::kHalf:
      return BufferType::kF16;
    case DType::kBFloat16:
      return BufferType::kBF16;
    case DType::kFloat:
      return BufferType::kF32;
    case DType::kDouble:
      return BufferType::kF64;
    case DType::kComplex64:
      return BufferType::kC64;
    case DType::kComplex128:
      return BufferType::kC128;
    default:
      return BufferType::kInvalid;
  }
}

std::string Text(const c::NamedValue& value) {
  switch (value.type) {
    case c::ValueType::kString:
      return std::string(value.string_value, value.value_size);
    case c::ValueType::kInt64:
      return absl::StrCat(value.int64_value);
    case c::ValueType::kInt64List:
      return absl::StrJoin(absl::MakeSpan(value.int64_array_value, value.value_size), ":");
    case c::ValueType::kFloat:
      return absl::StrCat(value.float_value);
    case c::ValueType::kBool:
      return value.bool_value ? "true" : "false";
  }
  return "?";
}

// CompileOptionsProto { executable_build_options { num_replicas: 1 num_partitions: 1 }
// compile_portable_executable: true }: the device is named at the launch.
constexpr absl::string_view kCompileOptions("\x1a\x04\x20\x01\x28\x01\x20\x01", 8);

// env_option_overrides { key: "xla_cpu_use_xnnpack" value { bool_field: false } }
constexpr absl::string_view kWithoutXnnpack("\x3a\x19\x0a\x13xla_cpu_use_xnnpack\x12\x02\x10\x00",
                                            27);
// CPU plug-ins before this one keep the packed right side of a product by its address, and so go on
// with old values when a variable was updated in place.
constexpr int kFirstSoundCpuVersion = 115;

void AppendOption(const std::vector<int64_t>& list, std::string* out) {
  absl::StrAppend(out, absl::StrJoin(list, ":"));
}
template <typename T>
void AppendOption(const T& value, std::string* out) {
  absl::StrAppend(out, value);
}

// Programs for the host's own processor use what it has.
std::string ProcessorName() {
  const StatusOr<std::string> all = ReadSmallFile("/proc/cpuinfo");
  std::string name;
  for (const absl::string_view line : absl::StrSplit(all.ok() ? *all : "", '\n')) {
    if (line.empty()) break;  // the other processors are the same
    if (absl::StartsWith(line, "model name") || absl::StartsWith(line, "flags")) {
      absl::StrAppend(&name, line, "\n");
    }
  }
  return name;
}

// From here on a copy to the device goes on after the call.
constexpr size_t kAsyncCopyBytes = 4096;

}  // namespace

Executable::~Executable() { client_->plugin().Destroy(executable_); }

bool Client::CanHold(DType dtype) { return TypeOf(dtype) != BufferType::kInvalid; }

StatusOr<std::unique_ptr<Client>> Client::Open(const PluginSpec& spec) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<Plugin> plugin, Plugin::Load(spec.path));
  std::unique_ptr<Client> client(new Client(spec, std::move(plugin)));
  TFLEET_RETURN_IF_ERROR(Prefixed(absl::StrCat(spec.path, ": "), client->Create()));
  TFLEET_RETURN_IF_ERROR(Prefixed(absl::StrCat(spec.path, ": "), client->FindDevices()));
  return client;
}

Status Client::Create() {
  std::vector<c::NamedValue> options(spec_.options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    const PluginSpec::Option& from = spec_.options[i];
    c::NamedValue& to = options[i];
    to.struct_size = sizeof(to);
    to.name = from.name.data();
    to.name_size = from.name.size();
    to.value_size = 1;
    if (const auto* number = std::get_if<int64_t>(&from.value)) {
      to.type = c::ValueType::kInt64;
      to.int64_value = *number;
    } else if (const auto* fraction = std::get_if<float>(&from.value)) {
      to.type = c::ValueType::kFloat;
      to.float_value = *fraction;
    } else if (const auto* flag = std::get_if<bool>(&from.value)) {
      to.type = c::ValueType::kBool;
      to.bool_value = *flag;
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&from.value)) {
      to.type = c::ValueType::kInt64List;
      to.int64_array_value = list->data();
      to.value_size = list->size();
    } else {
      const std::string& text = std::get<std::string>(from.value);
      to.type = c::ValueType::kString;
      to.string_value = text.data();
      to.value_size = text.size();
    }
  }
  c::ClientCreateArgs args;
  args.options = options.data();
  args.num_options = options.size();
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kClientCreate>(args));
  client_ = args.client;
  c::ClientTextArgs platform;
  platform.client = client_;
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kClientPlatformName>(platform));
  platform_.assign(platform.text, platform.text_size);
  compile_options_ = std::string(kCompileOptions);
  if (platform_ == "cpu" && plugin_->minor_version() < kFirstSoundCpuVersion) {
    absl::StrAppend(&compile_options_, kWithoutXnnpack);
  }
  return OkStatus();
}

Status Client::FindDevices() {
  c::ClientDevicesArgs found;
  found.client = client_;
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kClientAddressableDevices>(found));
  for (size_t i = 0; i < found.num_devices; ++i) {
    DeviceInfo info;
    info.device = found.devices[i];
    c::DeviceGetDescriptionArgs get;
    get.device = info.device;
    TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kDeviceGetDescription>(get));
    c::DeviceDescriptionIdArgs id;
    id.description = get.description;
    TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kDeviceDescriptionId>(id));
    info.id = id.id;
    c::DeviceDescriptionKindArgs kind;
    kind.description = get.description;
    TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kDeviceDescriptionKind>(kind));
    info.kind.assign(kind.kind, kind.kind_size);
    c::DeviceDescriptionAttributesArgs attributes;
    attributes.description = get.description;
    if (plugin_->Call<Function::kDeviceDescriptionAttributes>(attributes).ok()) {
      std::vector<std::string> parts;
      for (size_t k = 0; k < attributes.num_attributes; ++k) {
        const c::NamedValue& value = attributes.attributes[k];
        parts.push_back(
            absl::StrCat(absl::string_view(value.name, value.name_size), ": ", Text(value)));
      }
      info.attributes = absl::StrJoin(parts, ", ");
    }
    c::DeviceMemoryStatsArgs memory;
    memory.device = info.device;
    if (plugin_->Call<Function::kDeviceMemoryStats>(memory).ok() && memory.bytes_limit.is_set) {
      info.memory_limit = memory.bytes_limit.value;
    }
    devices_.push_back(std::move(info));
  }
  if (devices_.empty()) return NotFound("the plug-in has no device on this machine");
  return OkStatus();
}

StatusOr<Tensor> Client::ToDevice(const Tensor& tensor, int device) const {
  if (const DeviceBuffer* buffer = DeviceBufferOf(tensor)) {
    if (buffer->client() == this && buffer->device() == device) return tensor;
    return Internal("a tensor of another device was not copied to the host first");
  }
  const BufferType type = TypeOf(tensor.dtype());
  if (type == BufferType::kInvalid) {
    return Unimplemented("tensors of type ", DTypeName(tensor.dtype()), " stay on the host");
  }
  static constexpr char kNoData = 0;
  c::BufferFromHostBufferArgs args;
  args.client = client_;
  args.data = tensor.raw() != nullptr ? tensor.raw() : &kNoData;
  args.type = type;
  args.dims = tensor.shape().dims().data();
  args.num_dims = tensor.rank();
  const bool is_big = tensor.bytes() >= kAsyncCopyBytes;
  args.semantics = is_big ? c::HostBufferSemantics::kImmutableUntilTransferCompletes
                          : c::HostBufferSemantics::kImmutableOnlyDuringCall;
  args.device = devices_[device].device;
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kClientBufferFromHostBuffer>(args));
  if (is_big) {
    // The handle keeps the memory, and keeps others from writing to it, until the copy is over. A
    // failed copy shows where the value is used.
    plugin_->WhenReady(args.done_with_host_buffer, [source = tensor](const Status&) {});
  } else {
    plugin_->Destroy(args.done_with_host_buffer);
  }
  return DeviceBuffer::Wrap(this, device, args.buffer, tensor.dtype(), tensor.shape());
}

void Client::ToHost(const Tensor& tensor, std::function<void(StatusOr<Tensor>)> done) const {
  const DeviceBuffer* const buffer = DeviceBufferOf(tensor);
  if (buffer == nullptr) return done(tensor);
  ++Counts().copies_to_host;
  StatusOr<Tensor> copy = Tensor::Allocate(tensor.dtype(), tensor.shape());
  if (!copy.ok()) return done(std::move(copy));
  static char no_data;
  c::BufferToHostBufferArgs args;
  args.source = buffer->get();
  args.destination = copy->mutable_raw() != nullptr ? copy->mutable_raw() : &no_data;
  args.size = copy->bytes();
  const Status started = plugin_->Call<Function::kBufferToHostBuffer>(args);
  if (!started.ok()) return done(started);
  plugin_->WhenReady(args.event, [source = tensor, copy = *std::move(copy),
                                  done = std::move(done)](Status status) mutable {
    source.Clear();
    if (status.ok()) {
      done(std::move(copy));
    } else {
      done(std::move(status));
    }
  });
}

StatusOr<std::unique_ptr<Executable>> Client::Compile(const std::string& module) const {
  constexpr absl::string_view kFormat = "hlo";
  c::Program program;
  program.struct_size = sizeof(program);
  program.code = const_cast<char*>(module.data());
  program.code_size = module.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  c::ClientCompileArgs args;
  args.client = client_;
  args.program = &program;
  args.options = compile_options_.data();
  args.options_size = compile_options_.size();
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kClientCompile>(args));
  return std::make_unique<Executable>(this, args.executable);
}

StatusOr<std::string> Client::Serialize(const Executable& executable) const {
  if (!plugin_->Has(Function::kLoadedExecutableGetExecutable) ||
      !plugin_->Has(Function::kExecutableSerialize)) {
    return Unimplemented(plugin_->path(), " does not serialize programs");
  }
  c::LoadedExecutableGetExecutableArgs get;
  get.loaded = executable.get();
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kLoadedExecutableGetExecutable>(get));
  c::ExecutableSerializeArgs args;
  args.executable = get.executable;
  const Status status = plugin_->Call<Function::kExecutableSerialize>(args);
  std::string bytes;
  if (status.ok()) {
    bytes.assign(args.bytes, args.bytes_size);
    if (args.destroy != nullptr) args.destroy(args.serialized);
  }
  plugin_->Destroy(get.executable);
  TFLEET_RETURN_IF_ERROR(status);
  return bytes;
}

StatusOr<std::unique_ptr<Executable>> Client::Load(absl::string_view serialized) const {
  if (!plugin_->Has(Function::kExecutableDeserializeAndLoad)) {
    return Unimplemented(plugin_->path(), " does not load programs");
  }
  c::ExecutableDeserializeAndLoadArgs args;
  args.client = client_;
  args.bytes = serialized.data();
  args.bytes_size = serialized.size();
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kExecutableDeserializeAndLoad>(args));
  return std::make_unique<Executable>(this, args.executable);
}

std::string Client::BuildId() const {
  std::string id = absl::StrCat("1\n", plugin_->version(), "\n", platform_, "\n",
                                absl::BytesToHexString(compile_options_), "\n");
  struct stat file {};
  if (::stat(plugin_->path().c_str(), &file) == 0) {
    absl::StrAppend(&id, file.st_size, " ", file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec, "\n");
  }
  // Plug-ins read options of their compiler from there, too.
  const char* const flags = std::getenv("XLA_FLAGS");
  absl::StrAppend(&id, flags != nullptr ? flags : "", "\n");
  for (const PluginSpec::Option& option : spec_.options) {
    absl::StrAppend(&id, option.name, "=");
    std::visit([&](const auto& value) { AppendOption(value, &id); }, option.value);
    absl::StrAppend(&id, "\n");
  }
  for (const DeviceInfo& device : devices_) {
    absl::StrAppend(&id, device.kind, " ", device.attributes, "\n");
  }
  return absl::StrCat(id, ProcessorName());
}

StatusOr<std::vector<Tensor>> Client::Start(const Executable& executable, Launch launch) const {
  std::vector<c::Buffer*> arguments;
  arguments.reserve(launch.arguments.size());
  for (const Tensor& argument : launch.arguments) {
    arguments.push_back(DeviceBufferOf(argument)->get());
  }
  std::vector<c::Buffer*> results(launch.results.size() + 1);
  c::Buffer* const* const argument_list = arguments.data();
  c::Buffer** const result_list = results.data();
  c::Event* complete = nullptr;
  c::ExecuteOptions options;
  options.struct_size = sizeof(options);
  options.non_donatable_inputs = launch.keep.data();
  options.num_non_donatable_inputs = launch.keep.size();
  c::ExecuteArgs args;
  args.executable = executable.get();
  args.options = &options;
  args.arguments = &argument_list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.outputs = &result_list;
  args.complete_events = launch.on_complete ? &complete : nullptr;
  args.device = devices_[launch.device].device;
  TFLEET_RETURN_IF_ERROR(plugin_->Call<Function::kLoadedExecutableExecute>(args));
  std::vector<Tensor> tensors;
  tensors.reserve(launch.results.size());
  for (size_t i = 0; i < launch.results.size(); ++i) {
    const auto& [dtype, shape] = launch.results[i];
    tensors.push_back(DeviceBuffer::Wrap(this, launch.device, results[i], dtype, shape));
  }
  if (launch.on_complete) plugin_->WhenReady(complete, std::move(launch.on_complete));
  return tensors;
}

}  // namespace tensorfleet::pjrt
