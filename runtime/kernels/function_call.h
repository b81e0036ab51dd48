// Kernels that call functions of the graph's library, for any device: the runner does the work.
#pragma once

#include <memory>
#include <vector>

#include "proto/graph.pb.h"
#include "runtime/kernels/function_runner.h"
#include "runtime/kernels/kernel.h"

namespace tensorfleet {

// A function that a kernel calls. An unknown function, or a place where none can be called, fails
// the node when its kernel is made.
class CalledFunction {
 public:
  CalledFunction(KernelInit& init, const tensorflow::NameAttrList& function);
  // From the attribute `attr` of the node.
  CalledFunction(KernelInit& init, absl::string_view attr);

  // As part of the step of `ctx`; `done` is called once, here or later on any thread.
  void Call(const KernelContext& ctx, std::vector<Tensor> args, FunctionRunner::Done done) const {
    runner_->Run(handle_, ctx.step(), std::move(args), std::move(done));
  }
  // Sets the results as the outputs of `ctx`.
  void CallInto(KernelContext& ctx, std::vector<Tensor> args, AsyncKernel::Done done) const;

 private:
  void Instantiate(KernelInit& init, const tensorflow::NameAttrList& function);

  FunctionRunner* runner_ = nullptr;
  FunctionRunner::Handle handle_ = -1;
};

// Takes the inputs from `first` on out of the context.
std::vector<Tensor> TakeInputs(KernelContext& ctx, int first);

// The kernel of a node whose op is the name of a function.
std::unique_ptr<Kernel> MakeCallByName(KernelInit& init);

}  // namespace tensorfleet
