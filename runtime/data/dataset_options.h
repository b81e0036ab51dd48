// What tf.data.Options say of a run.
#pragma once

#include "runtime/data/dataset.h"
#include "runtime/data/iterator_scope.h"

namespace tensorfleet::data {

// The options of a whole data set, inner data sets' first.
void ApplyOptions(const Dataset& dataset, IteratorScope& scope);

}  // namespace tensorfleet::data
