// Which op has which gradient function. Filled by explicit calls, so that a test owns its registry.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/status.h"

namespace tensorfleet {

class GradientContext;

// Reads the node's inputs, outputs and incoming gradients from the context, and sets the gradients
// of its inputs. Errors are recorded in the context's scope.
using GradientFn = void (*)(GradientContext& ctx);

class GradientRegistry {
 public:
  // A second entry for one op is our bug and ends the process.
  void Add(absl::string_view op, GradientFn fn);
  // The op's results do not change with its inputs, or have no type that could: nothing flows back.
  void AddConstant(absl::string_view op);
  // The op is differentiable, but not here: asking for its gradient is an error that says why.
  void AddMissing(absl::string_view op, absl::string_view reason);

  struct Entry {
    GradientFn fn = nullptr;  // null: nothing flows back
    std::string missing;      // why the gradient is not there; empty otherwise
  };
  // Null when the op is not known here.
  const Entry* Find(absl::string_view op) const;
  // The sorted names of all ops that are known here.
  std::vector<std::string> Ops() const;

 private:
  void AddEntry(absl::string_view op, Entry entry);
  absl::flat_hash_map<std::string, Entry> entries_;
};

// Every op of runtime/ops.
void RegisterAllGradients(GradientRegistry& registry);
const GradientRegistry& BuiltinGradients();

}  // namespace tensorfleet
