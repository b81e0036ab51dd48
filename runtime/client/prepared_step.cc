#include "runtime/client/prepared_step.h"

#include "runtime/client/session.h"

namespace tensorfleet {

Callable::~Callable() { backend_->ReleaseCallable(handle_).IgnoreError(); }

StatusOr<std::vector<Tensor>> Callable::Run(std::vector<Tensor> feeds,
                                            tensorflow::RunMetadata* metadata) const {
  return backend_->RunCallable(handle_, std::move(feeds), metadata);
}

StatusOr<std::vector<Tensor>> PartialRun::Run(const std::vector<std::pair<Output, Tensor>>& feeds,
                                              const std::vector<Output>& fetches) {
  StepRequest request;
  for (const auto& [output, value] : feeds) request.feeds.emplace_back(output.name(), value);
  for (const Output& fetch : fetches) request.fetches.push_back(fetch.name());
  request.partial_run_handle = handle_;
  return backend_->Run(request, nullptr);
}

}  // namespace tensorfleet
