// Steps whose names are given once and whose tensors come later: a Callable runs again and again
// with the values alone, a PartialRun takes its feeds and gives its fetches in instalments. Both
// are made by a Session, and may outlive it: their calls then fail.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/config.pb.h"
#include "runtime/base/status.h"
#include "runtime/client/scope.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet {

class SessionBackend;

// Thread-safe: several calls may run at the same time.
class Callable {
 public:
  Callable(std::shared_ptr<SessionBackend> backend, int64_t handle)
      : backend_(std::move(backend)), handle_(handle) {}
  // Gives it back; errors are ignored.
  ~Callable();
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;

  // `feeds` in the order in which the callable was made; the fetches likewise. `metadata`
  // (optional) receives the trace that the callable's options ask for. Errors: InvalidArgument for
  // another number of feeds; those of Session::Run.
  StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> feeds,
                                    tensorflow::RunMetadata* metadata = nullptr) const;

 private:
  const std::shared_ptr<SessionBackend> backend_;
  const int64_t handle_;
};

// One step. Not thread-safe. A step that is not run to its end is dropped when the session closes.
class PartialRun {
 public:
  PartialRun(std::shared_ptr<SessionBackend> backend, std::string handle)
      : backend_(std::move(backend)), handle_(std::move(handle)) {}

  // Feeds and fetches that were announced, each once; a fetch can only be had when what it needs
  // has been fed. The step is over with the last of them. Errors: InvalidArgument, naming the
  // tensor; those of the step, after which it is over.
  StatusOr<std::vector<Tensor>> Run(const std::vector<std::pair<Output, Tensor>>& feeds,
                                    const std::vector<Output>& fetches);

 private:
  const std::shared_ptr<SessionBackend> backend_;
  const std::string handle_;
};

}  // namespace tensorfleet
