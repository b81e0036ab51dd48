// A model small enough to know every value: `w` (two elements) and the global step grow by one with
// each step; the loss is the global step as a float, read at any time of the step.
#pragma once

#include "proto/meta_graph.pb.h"

namespace tensorfleet::train {

// Resource variables or references.
tensorflow::MetaGraphDef CountingModel(bool uses_resources = false);

}  // namespace tensorfleet::train
