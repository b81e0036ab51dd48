// Inputs and attributes that collective ops share.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/kernels/collectives.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/rendezvous.h"

namespace tensorfleet::portable {

// Input `i`, a scalar. Errors: InvalidArgument that calls it `name`.
StatusOr<int32_t> NumberInput(const KernelContext& ctx, int i, const char* name);
// Where the step's collective ops meet. Errors: Unimplemented where they cannot.
StatusOr<StepCollectives*> CollectivesOf(const KernelContext& ctx);
// What every collective op says of itself and of its place in the step.
CollectiveArgs ArgsOf(const KernelContext& ctx, CollectiveKind kind);
// Attribute timeout_seconds, where 0 and less is none.
std::chrono::nanoseconds TimeoutOf(KernelInit& init);

}  // namespace tensorfleet::portable
