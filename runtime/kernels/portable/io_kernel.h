// For kernels that wait for disks: they run on a few threads of their own, so that the device's
// threads go on with the step, and with other steps, meanwhile.
#pragma once

#include <functional>

#include "runtime/base/contain.h"
#include "runtime/io/io_interest.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet::portable {

// The threads that wait for files.
ThreadPool& IoThreads();
// Runs `work`, which may block on files, soon.
void RunOnIoThread(std::function<void()> work);
// The same for work that goes on beside the steps of others: its threads yield the processors to
// them.
void RunBesideSteps(std::function<void()> work);
// They run in the time that steps leave, for work that is short and takes no lock that a step
// wants.
void RunBetweenSteps(std::function<void()> work);

class IoKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const final {
    RunOnIoThread([this, &ctx, done = std::move(done)] {
      Status status;
      {
        const ScopedIoInterest interest(ctx.step().cancellation);
        status = Contained([&] { return ComputeIo(ctx); });
      }
      done(std::move(status));
    });
  }

 private:
  // May block on files, whose waits end when the step is cancelled (io_interest.h). Long work looks
  // at ctx.step().cancellation (CheckCancelled) between pieces.
  virtual Status ComputeIo(KernelContext& ctx) const = 0;
};

// Why the step was cancelled; OK while it was not.
Status CheckCancelled(const KernelContext& ctx);

}  // namespace tensorfleet::portable
