// A TensorFlow device on a device of a PJRT client.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/kernels/accelerator.h"
#include "runtime/pjrt/client.h"
#include "runtime/pjrt/executable_cache.h"
#include "runtime/pjrt/variable_locks.h"

namespace tensorfleet::pjrt {

class PjrtDevice final : public Device, public Accelerator {
 public:
  PjrtDevice(DeviceAttributes attributes, const Client* client, ExecutableCache* cache, int index,
             const OpRegistry* ops, const KernelRegistry* kernels, ThreadPool* pool)
      : Device(std::move(attributes)),
        client_(client),
        cache_(cache),
        index_(index),
        ops_(ops),
        kernels_(kernels),
        pool_(pool) {}

  ThreadPool& pool() override { return *pool_; }
  StatusOr<std::unique_ptr<Kernel>> MakeKernel(KernelInit& init,
                                               const KernelRegistry& kernels) override;

  const Client& client() const { return *client_; }
  ExecutableCache& cache() const { return *cache_; }
  int index() const { return index_; }  // among the client's devices
  const OpRegistry& ops() const { return *ops_; }
  const KernelRegistry& kernels() const { return *kernels_; }
  VariableLocks& locks() const { return locks_; }

 private:
  const Client* const client_;
  ExecutableCache* const cache_;
  const int index_;
  const OpRegistry* const ops_;
  const KernelRegistry* const kernels_;  // of the CPU
  ThreadPool* const pool_;
  mutable VariableLocks locks_;
};

// The PJRT device that a kernel runs on, under whatever name the session knows it.
PjrtDevice* PjrtDeviceOf(Device* device);

}  // namespace tensorfleet::pjrt
