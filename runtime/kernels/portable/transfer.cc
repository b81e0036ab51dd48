// Sends and receives through the step's rendezvous, and arguments and results of compiled graphs.
#include <utility>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/rendezvous.h"

namespace tensorfleet::portable {
namespace {

// The key of a transfer; outside loops it is the same in every step and made once.
class TransferKey {
 public:
  explicit TransferKey(KernelInit& init) {
    int64_t incarnation = 0;
    init.Get("tensor_name", &base_.tensor_name);
    init.Get("send_device", &base_.src_device);
    init.Get("recv_device", &base_.dst_device);
    init.Get("send_device_incarnation", &incarnation);
    base_.src_incarnation = static_cast<uint64_t>(incarnation);
    base_.text = TextAt(0, 0);
  }

  // Calls `use` with the key at the loop position of `ctx`.
  template <typename Use>
  auto With(const KernelContext& ctx, const Use& use) const {
    if (ctx.frame_id() == 0 && ctx.iteration() == 0) return use(base_);
    RendezvousKey key = base_;
    key.frame = ctx.frame_id();
    key.iteration = ctx.iteration();
    key.text = TextAt(key.frame, key.iteration);
    return use(key);
  }

 private:
  std::string TextAt(uint64_t frame, uint64_t iteration) const {
    return MakeRendezvousKey(base_.src_device, base_.src_incarnation, base_.dst_device,
                             base_.tensor_name, frame, iteration);
  }
  RendezvousKey base_;
};

Status NoRendezvous() { return Internal("this step has no rendezvous to send or receive by"); }

class Send final : public Kernel {
 public:
  explicit Send(KernelInit& init) : key_(init) {}
  Status Compute(KernelContext& ctx) const override {
    Rendezvous* rendezvous = ctx.step().rendezvous;
    if (rendezvous == nullptr) return NoRendezvous();
    const bool is_dead = ctx.is_input_dead();
    return key_.With(ctx, [&](const RendezvousKey& key) {
      return rendezvous->Send(key, is_dead ? Tensor() : ctx.TakeInput(0), is_dead);
    });
  }

 private:
  const TransferKey key_;
};

class Recv final : public AsyncKernel {
 public:
  explicit Recv(KernelInit& init) : key_(init) {}
  // Cancellation reaches it through the rendezvous, which the executor aborts.
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    Rendezvous* rendezvous = ctx.step().rendezvous;
    if (rendezvous == nullptr) return done(NoRendezvous());
    key_.With(ctx, [&](const RendezvousKey& key) {
      rendezvous->RecvAsync(
          key, [&ctx, done = std::move(done)](const Status& status, Tensor tensor, bool is_dead) {
            if (status.ok()) {
              if (is_dead) {
                ctx.SetOutputsDead();
              } else {
                ctx.SetOutput(0, std::move(tensor));
              }
            }
            done(status);
          });
    });
  }

 private:
  const TransferKey key_;
};

class Arg final : public Kernel {
 public:
  explicit Arg(KernelInit& init) {
    init.Get("index", &index_);
    init.Get("T", &dtype_);
  }
  Status Compute(KernelContext& ctx) const override {
    const CallFrame* frame = ctx.step().frame;
    if (frame == nullptr || index_ >= static_cast<int64_t>(frame->args.size())) {
      return InvalidArgument("argument ", index_, " was not given");
    }
    Tensor& arg = frame->args[index_];
    if (arg.dtype() != dtype_) {
      return InvalidArgument("Type mismatch: actual ", DTypeName(arg.dtype()), " vs. expect ",
                             DTypeName(dtype_), " for argument ", index_);
    }
    ctx.SetOutput(0, std::move(arg));
    arg.Clear();
    return OkStatus();
  }

 private:
  int64_t index_ = 0;
  DType dtype_ = DType::kInvalid;
};

class Retval final : public Kernel {
 public:
  explicit Retval(KernelInit& init) { init.Get("index", &index_); }
  Status Compute(KernelContext& ctx) const override {
    const CallFrame* frame = ctx.step().frame;
    if (frame == nullptr || index_ >= static_cast<int64_t>(frame->results.size())) {
      return InvalidArgument("nobody asked for result ", index_);
    }
    frame->results[index_] = ctx.TakeInput(0);
    return OkStatus();
  }

 private:
  int64_t index_ = 0;
};

}  // namespace

void RegisterTransferKernels(KernelRegistry& kernels) {
  kernels.Add<Send>("_Send", kCpu);
  kernels.Add<Send>("_HostSend", kCpu);
  kernels.Add<Recv>("_Recv", kCpu);
  kernels.Add<Recv>("_HostRecv", kCpu);
  kernels.Add<Arg>("_Arg", kCpu);
  kernels.Add<Arg>("_DeviceArg", kCpu);
  kernels.Add<Retval>("_Retval", kCpu);
  kernels.Add<Retval>("_DeviceRetval", kCpu);
}

}  // namespace tensorfleet::portable
