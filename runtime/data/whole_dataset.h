// For kernels that run through a data set within their step.
#pragma once

#include <functional>

#include "runtime/data/dataset_kernel.h"
#include "runtime/data/scope_work.h"

namespace tensorfleet::data {

// Runs `work` on a thread that may wait, in a scope that ends with the step of `ctx`; `done` gets
// its result after the scope has gone.
void RunThroughDataset(KernelContext& ctx, AsyncKernel::Done done,
                       std::function<Status(KernelContext&, IteratorScope&)> work);

// The outermost iterator of such a run, by the data set's own options.
StatusOr<IteratorPtr> OpenWhole(const DatasetRef& dataset, IteratorScope& scope);

}  // namespace tensorfleet::data
