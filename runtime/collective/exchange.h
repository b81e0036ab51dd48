// One member's run of one collective, as the algorithms see it: pieces of tensors go to other
// members and come from them, by keys that both sides form alike. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/collective/group.h"
#include "runtime/kernels/collectives.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::collective {

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // On any thread, and not within Receive; not at all once the run is over.
  using Received = std::function<void(Tensor piece)>;

  virtual ~Exchange() = default;
  virtual const Group& group() const = 0;
  virtual int rank() const = 0;
  virtual const CollectiveArgs& args() const = 0;
  // What all keys of this run begin with.
  virtual const std::string& key() const = 0;

  // Keeps `piece`, a vector, until member `to` has taken it. Nothing may write it until then.
  virtual void Post(int to, const std::string& key, Tensor piece) = 0;
  // A vector of `elements` of the run's type from member `from`. What throws in `received` fails
  // the run.
  virtual void Receive(int from, const std::string& key, int64_t elements, Received received) = 0;
  // The result: the run is over when all that was posted has been taken.
  virtual void Finish(Tensor result) = 0;
  virtual void Fail(const Status& why) = 0;
};

// Begin to do what the arguments say; the source of a broadcast is known. To be called by a thread
// that may copy tensors.
void StartRing(std::shared_ptr<Exchange> exchange);  // reduce, gather, reduce-scatter
void StartBroadcast(std::shared_ptr<Exchange> exchange, int source_rank);
void StartAllToAll(std::shared_ptr<Exchange> exchange);

}  // namespace tensorfleet::collective
