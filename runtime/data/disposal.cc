#include "runtime/data/disposal.h"

#include <string>
#include <utility>

namespace tensorfleet::data {
namespace {

// Stands in the resource manager, and goes with what is in it.
class DisposalKeeper final : public Resource {
 public:
  std::string DebugString() const override { return "Disposal of iterators"; }
  const DisposalRef& disposal() const { return disposal_; }

 private:
  ~DisposalKeeper() override { disposal_->Close(); }
  const DisposalRef disposal_ = std::make_shared<Disposal>();
};

}  // namespace

bool Disposal::Begin() {
  MutexLock lock(&mu_);
  if (closed_) return false;
  ++running_;
  return true;
}
void Disposal::End() {
  MutexLock lock(&mu_);
  --running_;
  changed_.NotifyAll();
}
void Disposal::Close() {
  MutexLock lock(&mu_);
  closed_ = true;
  while (running_ > 0) changed_.Wait(&mu_);
}

StatusOr<DisposalRef> DisposalOf(ResourceManager& resources) {
  TFLEET_ASSIGN_OR_RETURN(
      const ResourceRef<DisposalKeeper> keeper,
      resources.FindOrMake<DisposalKeeper>(
          "", "disposal of iterators", []() -> StatusOr<ResourceRef<DisposalKeeper>> {
            return ResourceRef<DisposalKeeper>::Adopt(new DisposalKeeper);
          }));
  return keeper->disposal();
}

void Dispose(const DisposalRef& disposal, std::shared_ptr<IteratorRun> run) {
  if (disposal->Begin()) {
    const Status started = RunOnDataThread([disposal, run] {
      run->Stop();
      disposal->End();
    });
    if (started.ok()) return;
    disposal->End();
  }
  run->Stop();
}

}  // namespace tensorfleet::data
