#include "runtime/kernels/function_call.h"

#include <utility>

namespace tensorfleet {
namespace {

class CallByName final : public AsyncKernel {
 public:
  CallByName(KernelInit& init, const tensorflow::NameAttrList& function)
      : function_(init, function) {}
  // Until it has been measured.
  bool IsExpensive() const override { return true; }
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    function_.CallInto(ctx, TakeInputs(ctx, 0), std::move(done));
  }

 private:
  const CalledFunction function_;
};

}  // namespace

CalledFunction::CalledFunction(KernelInit& init, const tensorflow::NameAttrList& function) {
  Instantiate(init, function);
}

CalledFunction::CalledFunction(KernelInit& init, absl::string_view attr) {
  tensorflow::NameAttrList function;
  init.Get(attr, &function);
  if (init.status().ok()) Instantiate(init, function);
}

void CalledFunction::Instantiate(KernelInit& init, const tensorflow::NameAttrList& function) {
  runner_ = init.functions();
  if (runner_ == nullptr) {
    init.Fail(Unimplemented(
        "function '", function.name(),
        "' cannot be called here: the graph was registered without a function runner"));
    return;
  }
  const StatusOr<FunctionRunner::Handle> handle = runner_->Instantiate(function);
  if (!handle.ok()) return init.Fail(handle.status());
  handle_ = *handle;
}

void CalledFunction::CallInto(KernelContext& ctx, std::vector<Tensor> args,
                              AsyncKernel::Done done) const {
  Call(ctx, std::move(args),
       [&ctx, done = std::move(done)](const Status& status, std::vector<Tensor> results) {
         if (!status.ok()) return done(status);
         if (static_cast<int>(results.size()) != ctx.num_outputs()) {
           return done(InvalidArgument("the function gave ", results.size(), " results, expected ",
                                       ctx.num_outputs()));
         }
         for (size_t i = 0; i < results.size(); ++i) {
           ctx.SetOutput(static_cast<int>(i), std::move(results[i]));
         }
         done(OkStatus());
       });
}

std::vector<Tensor> TakeInputs(KernelContext& ctx, int first) {
  std::vector<Tensor> inputs;
  inputs.reserve(ctx.num_inputs() - first);
  for (int i = first; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.TakeInput(i));
  return inputs;
}

std::unique_ptr<Kernel> MakeCallByName(KernelInit& init) {
  tensorflow::NameAttrList function;
  function.set_name(init.def().op());
  *function.mutable_attr() = init.def().attr();
  return std::make_unique<CallByName>(init, function);
}

}  // namespace tensorfleet
