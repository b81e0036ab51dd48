// Synchronous replicas small enough to know every value: each gradient of `w` is 1 and the rate is
// 1, so after every step w is minus the global step, whoever of the workers was part of it.
#pragma once

#include "proto/meta_graph.pb.h"
#include "runtime/train/optimizer/sync_replicas.h"

namespace tensorfleet::train {

tensorflow::MetaGraphDef SyncModel(SyncReplicas::Options options);

}  // namespace tensorfleet::train
