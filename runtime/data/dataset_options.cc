#include "runtime/data/dataset_options.h"

#include "proto/dataset_options.pb.h"

namespace tensorfleet::data {

void ApplyOptions(const Dataset& dataset, IteratorScope& scope) {
  tensorflow::data::Options options;
  dataset.MergeOptions(&options);
  if (options.optional_deterministic_case() == tensorflow::data::Options::kDeterministic) {
    scope.set_deterministic(options.deterministic());
  }
}

}  // namespace tensorfleet::data
