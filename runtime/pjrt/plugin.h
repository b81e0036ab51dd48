// A PJRT plug-in: one shared library behind which a compiler and the devices of one kind are.
// Loaded once and never unloaded. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/pjrt/c_api.h"

namespace tensorfleet::pjrt {

class Plugin {
 public:
  // Errors: NotFound for a file that cannot be loaded or that is no plug-in, with the loader's
  // reason; FailedPrecondition for an interface of another major version or one that lacks a
  // function that this program calls; what the plug-in's initialisation says.
  static StatusOr<std::unique_ptr<Plugin>> Load(const std::string& path);

  const std::string& path() const { return path_; }
  // "0.81"
  std::string version() const;
  int minor_version() const { return api_->version.minor; }

  // Whether its table has the function. Those that every plug-in needs are there.
  bool Has(c::Function f) const;
  // Calls function `F` of the table; fills in the size of `args`.
  template <c::Function F, typename Args>
  Status Call(Args& args) const {
    args.struct_size = sizeof(Args);
    return Taken(reinterpret_cast<c::Error* (*)(Args*)>(At(F))(&args));
  }
  // The status of an error that the plug-in handed over, which is destroyed; null is OK.
  Status Taken(c::Error* error) const;

  // Calls `then` once with the event's outcome, on a thread of the plug-in or here; takes the event
  // over. `then` should be short.
  void WhenReady(c::Event* event, std::function<void(Status)> then) const;
  void Destroy(c::Event* event) const;
  void Destroy(c::Buffer* buffer) const;
  void Destroy(c::LoadedExecutable* executable) const;
  void Destroy(c::Executable* executable) const;

 private:
  Plugin(std::string path, const c::Plugin_Api* api) : path_(std::move(path)), api_(api) {}
  void* At(c::Function f) const { return api_->functions[static_cast<int>(f)]; }
  Status CheckTable() const;

  const std::string path_;
  const c::Plugin_Api* const api_;
};

}  // namespace tensorfleet::pjrt
