#include "runtime/pjrt/plugin.h"

#include <dlfcn.h>

#include <utility>

namespace tensorfleet::pjrt {
namespace {

using c::Function;

constexpr Function kNeeded[] = {
    Function::kErrorDestroy,
    Function::kErrorMessage,
    Function::kErrorGetCode,
    Function::kPluginInitialize,
    Function::kEventDestroy,
    Function::kEventOnReady,
    Function::kClientCreate,
    Function::kClientPlatformName,
    Function::kClientPlatformVersion,
    Function::kClientAddressableDevices,
    Function::kClientCompile,
    Function::kClientBufferFromHostBuffer,
    Function::kDeviceDescriptionId,
    Function::kDeviceDescriptionAttributes,
    Function::kDeviceDescriptionKind,
    Function::kDeviceGetDescription,
    Function::kDeviceMemoryStats,
    Function::kLoadedExecutableDestroy,
    Function::kLoadedExecutableExecute,
    Function::kBufferDestroy,
    Function::kBufferToHostBuffer,
    Function::kBufferReadyEvent,
};

constexpr size_t kHeader = sizeof(c::Head) + sizeof(c::Version);

absl::StatusCode CodeOf(c::ErrorCode code) {
  return code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated)
             ? static_cast<absl::StatusCode>(code)
             : absl::StatusCode::kUnknown;
}

}  // namespace

StatusOr<std::unique_ptr<Plugin>> Plugin::Load(const std::string& path) {
  // Its symbols stay its own: plug-ins bring libraries that this program has in other versions.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return NotFound("the PJRT plug-in ", path,
                    " cannot be loaded: ", why ? why : "no reason given");
  }
  const auto get = reinterpret_cast<const c::Plugin_Api* (*)()>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) return NotFound(path, " is no PJRT plug-in: it lacks GetPjrtApi");
  const c::Plugin_Api* const api = get();
  if (api == nullptr) return NotFound(path, ": GetPjrtApi gives nothing");
  std::unique_ptr<Plugin> plugin(new Plugin(path, api));
  TFLEET_RETURN_IF_ERROR(plugin->CheckTable());
  c::PluginInitializeArgs args;
  TFLEET_RETURN_IF_ERROR(
      Prefixed(absl::StrCat(path, ": "), plugin->Call<Function::kPluginInitialize>(args)));
  return plugin;
}

bool Plugin::Has(c::Function f) const {
  return static_cast<size_t>(f) < (api_->struct_size - kHeader) / sizeof(void*) && At(f) != nullptr;
}

Status Plugin::CheckTable() const {
  if (api_->struct_size < kHeader || api_->version.major != 0) {
    return FailedPrecondition(path_, " speaks version ", api_->version.major, ".",
                              api_->version.minor,
                              " of the PJRT interface; this program speaks 0.81 and later 0.x");
  }
  for (const Function f : kNeeded) {
    if (Has(f)) continue;
    return FailedPrecondition(path_, " (PJRT ", version(), ") lacks function ", static_cast<int>(f),
                              " of the PJRT interface: use a newer plug-in");
  }
  return OkStatus();
}

std::string Plugin::version() const {
  return absl::StrCat(api_->version.major, ".", api_->version.minor);
}

Status Plugin::Taken(c::Error* error) const {
  if (error == nullptr) return OkStatus();
  c::ErrorMessageArgs message;
  message.struct_size = sizeof(message);
  message.error = error;
  reinterpret_cast<void (*)(c::ErrorMessageArgs*)>(At(Function::kErrorMessage))(&message);
  c::ErrorGetCodeArgs code;
  code.struct_size = sizeof(code);
  code.error = error;
  c::Error* const second =
      reinterpret_cast<c::Error* (*)(c::ErrorGetCodeArgs*)>(At(Function::kErrorGetCode))(&code);
  Status status(second == nullptr ? CodeOf(code.code) : absl::StatusCode::kUnknown,
                absl::string_view(message.message, message.message_size));
  for (c::Error* e : {error, second}) {
    if (e == nullptr) continue;
    c::ErrorDestroyArgs destroy;
    destroy.struct_size = sizeof(destroy);
    destroy.error = e;
    reinterpret_cast<void (*)(c::ErrorDestroyArgs*)>(At(Function::kErrorDestroy))(&destroy);
  }
  return status;
}

void Plugin::WhenReady(c::Event* event, std::function<void(Status)> then) const {
  struct Waiting {
    const Plugin* plugin;
    c::Event* event;
    std::function<void(Status)> then;
  };
  auto* const waiting = new Waiting{this, event, std::move(then)};
  c::EventOnReadyArgs args;
  args.event = event;
  args.user_arg = waiting;
  args.callback = [](c::Error* error, void* arg) {
    const std::unique_ptr<Waiting> self(static_cast<Waiting*>(arg));
    Status status = self->plugin->Taken(error);
    self->plugin->Destroy(self->event);
    self->then(std::move(status));
  };
  if (const Status status = Call<Function::kEventOnReady>(args); !status.ok()) {
    const std::unique_ptr<Waiting> self(waiting);
    Destroy(event);
    self->then(status);
  }
}

// A plug-in that cannot destroy what it made has no way to be told so.
void Plugin::Destroy(c::Event* event) const {
  if (event == nullptr) return;
  c::EventArgs args;
  args.event = event;
  (void)Call<Function::kEventDestroy>(args);
}

void Plugin::Destroy(c::Buffer* buffer) const {
  if (buffer == nullptr) return;
  c::BufferArgs args;
  args.buffer = buffer;
  (void)Call<Function::kBufferDestroy>(args);
}

void Plugin::Destroy(c::LoadedExecutable* executable) const {
  if (executable == nullptr) return;
  c::LoadedExecutableArgs args;
  args.executable = executable;
  (void)Call<Function::kLoadedExecutableDestroy>(args);
}

void Plugin::Destroy(c::Executable* executable) const {
  if (executable == nullptr || !Has(Function::kExecutableDestroy)) return;
  c::ExecutableArgs args;
  args.executable = executable;
  (void)Call<Function::kExecutableDestroy>(args);
}

}  // namespace tensorfleet::pjrt
