// An iterator as a resource: what IteratorV2 and its kin make and IteratorGetNext asks. Holds the
// run of the data set that it was last initialized with.
#pragma once

#include <memory>
#include <string>

#include "runtime/data/disposal.h"
#include "runtime/data/iterator_run.h"
#include "runtime/kernels/kernel_context.h"
#include "runtime/kernels/resource.h"

namespace tensorfleet::data {

inline constexpr char kIteratorTypeName[] = "N10tensorflow4data16IteratorResourceE";

// Thread-safe.
class IteratorResource final : public Resource {
 public:
  // `declared` is what its elements have to be; without types, anything.
  IteratorResource(ElementType declared, DisposalRef disposal)
      : declared_(std::move(declared)), disposal_(std::move(disposal)) {}
  std::string DebugString() const override { return "Iterator"; }
  const ElementType& declared() const { return declared_; }

  // Errors: FailedPrecondition, in TensorFlow's words, before it was initialized.
  StatusOr<std::shared_ptr<IteratorRun>> run() const;
  // Errors: InvalidArgument when the data set has other elements than declared.
  Status Initialize(DatasetRef dataset, ThreadPool* pool, const std::string& name,
                    const IteratorState* state = nullptr, CancellationManager* step = nullptr);

 private:
  ~IteratorResource() override;

  const ElementType declared_;
  const DisposalRef disposal_;
  mutable Mutex mu_;
  std::shared_ptr<IteratorRun> run_ ABSL_GUARDED_BY(mu_);
};

// The iterator behind scalar resource input `i`. Errors: as LookupResource; FailedPrecondition for
// an iterator that is asked by one of its own functions.
StatusOr<ResourceRef<IteratorResource>> IteratorInput(KernelContext& ctx, int i);

}  // namespace tensorfleet::data
