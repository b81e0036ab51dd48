// Where the pieces of a step meet: a producer sends a tensor under a key, a consumer receives it,
// in either order, once each. A rendezvous belongs to one step; keys are formed as TensorFlow forms
// them (facts: tf-protocol.md, B.9), so that pieces on other processes meet too. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class StepCollectives;

// "<source device>;<incarnation, 16 hex digits>;<destination device>;<tensor>;<frame>:<iteration>"
struct RendezvousKey {
  std::string text;  // the whole key
  std::string src_device;
  uint64_t src_incarnation = 0;
  std::string dst_device;
  std::string tensor_name;
  uint64_t frame = 0;
  uint64_t iteration = 0;

  // Errors: InvalidArgument `Invalid  rendezvous key: <text>` (two blanks, as clients have seen
  // it).
  static StatusOr<RendezvousKey> Parse(absl::string_view text);
};
std::string MakeRendezvousKey(absl::string_view src_device, uint64_t src_incarnation,
                              absl::string_view dst_device, absl::string_view tensor_name,
                              uint64_t frame = 0, uint64_t iteration = 0);

class Rendezvous {
 public:
  // `tensor` is invalid when the status is not OK; a dead tensor's value means nothing.
  using RecvDone = std::function<void(const Status& status, Tensor tensor, bool is_dead)>;

  virtual ~Rendezvous() = default;
  // Never blocks. Errors: Aborted etc. once the step is over; a key sent twice is Aborted too.
  virtual Status Send(const RendezvousKey& key, Tensor tensor, bool is_dead) = 0;
  // Calls `done` once, here or later on any thread.
  virtual void RecvAsync(const RendezvousKey& key, RecvDone done) = 0;
  // Ends every waiting and future call with `why`, which is not OK. Only the first call counts.
  virtual void StartAbort(const Status& why) = 0;
  // How the step's collective ops meet; null where they cannot.
  virtual StepCollectives* collectives() { return nullptr; }
};

}  // namespace tensorfleet
