// What a collective op asks of its step: to do something together with the devices of a group, each
// of which runs an op with the same keys. Formed as TensorFlow forms it, so that groups may mix its
// servers with ours. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

// The values are TensorFlow's numbers, which travel.
enum class CollectiveKind {
  kReduce = 0,
  kBroadcast = 1,
  kGather = 2,
  kAllToAll = 4,
  kReduceScatter = 5,
};
const char* CollectiveName(CollectiveKind kind);

enum class MergeOp { kAdd, kMul, kMin, kMax };
enum class FinalOp { kId, kDiv };  // kDiv: by the size of the group

struct CollectiveArgs {
  CollectiveKind kind = CollectiveKind::kReduce;
  std::string node;  // for messages
  const DeviceAttributes* device = nullptr;
  // Outlives the run; may be null.
  CancellationManager* cancellation = nullptr;
  int32_t group_key = 0;
  int32_t group_size = 0;
  int32_t instance_key = 0;
  int rank = -1;  // that the user wants; -1: any
  // The group was made by JoinGroup before.
  bool is_joined = false;
  DType dtype = DType::kInvalid;
  Shape shape;   // of what the op gives
  Tensor input;  // invalid at a receiver of a broadcast
  bool is_source = false;
  MergeOp merge = MergeOp::kAdd;
  FinalOp final = FinalOp::kId;
  // Where rings begin; empty: as many rings as `max_subdivs` allows (-1: one).
  std::vector<int> subdiv_offsets;
  int max_subdivs = -1;
  std::chrono::nanoseconds timeout{0};  // 0: none
  uint64_t frame_id = 0;
  uint64_t iteration = 0;
};

class StepCollectives {
 public:
  using Done = std::function<void(StatusOr<Tensor>)>;
  using Joined = std::function<void(Status)>;

  virtual ~StepCollectives() = default;
  // `done` is called once, here or on another thread. Never blocks. Errors: Unavailable, naming the
  // member that is gone, silent, or has ended its step; InvalidArgument and Internal when members
  // disagree about what they do, naming both; DeadlineExceeded after `timeout`.
  virtual void Run(CollectiveArgs args, Done done) = 0;
  // The same for the group alone.
  virtual void JoinGroup(CollectiveArgs args, Joined done) = 0;
};

}  // namespace tensorfleet
