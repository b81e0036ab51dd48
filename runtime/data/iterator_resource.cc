#include "runtime/data/iterator_resource.h"

namespace tensorfleet::data {

IteratorResource::~IteratorResource() {
  if (run_ != nullptr) Dispose(disposal_, std::move(run_));
}

StatusOr<std::shared_ptr<IteratorRun>> IteratorResource::run() const {
  MutexLock lock(&mu_);
  if (run_ != nullptr) return run_;
  return FailedPrecondition(
      "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
      "the initializer operation for this iterator before getting the next element.");
}

Status IteratorResource::Initialize(DatasetRef dataset, ThreadPool* pool, const std::string& name,
                                    const IteratorState* state, CancellationManager* step) {
  if (!declared_.types.empty()) {
    TFLEET_RETURN_IF_ERROR(CheckCompatible(declared_, dataset->type()));
  }
  TFLEET_ASSIGN_OR_RETURN(std::shared_ptr<IteratorRun> run,
                          IteratorRun::Start(std::move(dataset), pool,
                                             absl::StrCat("iterator '", name, "'"), state, step));
  {
    MutexLock lock(&mu_);
    run_.swap(run);
  }
  if (run != nullptr) Dispose(disposal_, std::move(run));
  return OkStatus();
}

StatusOr<ResourceRef<IteratorResource>> IteratorInput(KernelContext& ctx, int i) {
  TFLEET_ASSIGN_OR_RETURN(ResourceRef<IteratorResource> iterator,
                          LookupResource<IteratorResource>(ctx, i));
  const StatusOr<std::shared_ptr<IteratorRun>> run = iterator->run();
  if (run.ok() && (*run)->Owns(ctx.step().functions)) {
    // Should this be the last reference, it must not wait here for the run that waits for it.
    RunOnDataThread([iterator = std::move(iterator)] {}).IgnoreError();
    return FailedPrecondition("a function of an iterator's own data set asks for that iterator");
  }
  return iterator;
}

}  // namespace tensorfleet::data
