// A kernel: the code that runs one node's op on one type of device. Made once per node when its
// graph is registered, then run by many steps at once: a kernel keeps nothing of a step in its
// members.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/graph/attr.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/kernel_context.h"

namespace tensorfleet {

class FunctionRunner;
class ResourceManager;

// What a kernel's constructor may look at. Errors are collected: the first one fails the node.
class KernelInit {
 public:
  KernelInit(const Node& node, Device* device, ResourceManager* resources,
             FunctionRunner* functions)
      : node_(node), device_(device), resources_(resources), functions_(functions) {}

  const Node& node() const { return node_; }
  const tensorflow::NodeDef& def() const { return node_.def(); }
  Device* device() const { return device_; }
  ResourceManager* resources() const { return resources_; }
  FunctionRunner* functions() const { return functions_; }  // null where functions can't be called

  // Stores the attribute in `*value`; an error is recorded and `*value` left alone.
  template <typename T>
  void Get(absl::string_view attr, T* value) {
    StatusOr<T> got = GetAttr<T>(node_.def(), attr);
    if (got.ok()) {
      *value = *std::move(got);
    } else {
      Fail(got.status());
    }
  }
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  const Status& status() const { return status_; }

 private:
  const Node& node_;
  Device* const device_;
  ResourceManager* const resources_;
  FunctionRunner* const functions_;
  Status status_;
};

class AsyncKernel;

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Runs to the end on the calling thread without blocking. Called by many threads at once.
  virtual Status Compute(KernelContext& ctx) const = 0;
  // Whether one run usually costs more than handing it to another thread (some 10 microseconds): it
  // then goes to the device's pool when other nodes are ready too.
  virtual bool IsExpensive() const { return false; }
  virtual const AsyncKernel* AsAsync() const { return nullptr; }
};

// A kernel that may finish later: receives, queues, calls of functions.
class AsyncKernel : public Kernel {
 public:
  using Done = std::function<void(Status)>;
  // Must call `done` exactly once, here or on another thread; `ctx` lives until then. Must notice
  // cancellation (ctx.step().cancellation).
  virtual void ComputeAsync(KernelContext& ctx, Done done) const = 0;
  // Never called; the executor asks for ComputeAsync.
  Status Compute(KernelContext& ctx) const final;
  const AsyncKernel* AsAsync() const final { return this; }
};

}  // namespace tensorfleet
