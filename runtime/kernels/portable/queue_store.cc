#include "runtime/kernels/portable/queue_store.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "runtime/base/random_id.h"
#include "runtime/kernels/philox.h"

namespace tensorfleet::portable {
namespace {

class FifoStore final : public QueueStore {
 public:
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Push(QueueTuple element) override { elements_.push_back(std::move(element)); }
  QueueTuple Pop() override {
    QueueTuple front = std::move(elements_.front());
    elements_.pop_front();
    return front;
  }
  void PutBack(QueueTuple element) override { elements_.push_front(std::move(element)); }

 private:
  std::deque<QueueTuple> elements_;
};

// A heap; the number an element came with breaks ties.
class PriorityStore final : public QueueStore {
 public:
  int64_t size() const override { return static_cast<int64_t>(heap_.size()); }
  void Push(QueueTuple element) override { Insert(std::move(element), next_++); }
  QueueTuple Pop() override {
    std::pop_heap(heap_.begin(), heap_.end(), ComesLater);
    QueueTuple top = std::move(heap_.back().element);
    heap_.pop_back();
    return top;
  }
  void PutBack(QueueTuple element) override { Insert(std::move(element), --first_); }

 private:
  struct Entry {
    int64_t priority;
    int64_t order;
    QueueTuple element;
  };
  static bool ComesLater(const Entry& a, const Entry& b) {
    return std::pair(a.priority, a.order) > std::pair(b.priority, b.order);
  }
  void Insert(QueueTuple element, int64_t order) {
    const int64_t priority = element[0].scalar<int64_t>();
    heap_.push_back({priority, order, std::move(element)});
    std::push_heap(heap_.begin(), heap_.end(), ComesLater);
  }

  std::vector<Entry> heap_;
  int64_t next_ = 0;
  int64_t first_ = 0;
};

class ShuffleStore final : public QueueStore {
 public:
  ShuffleStore(int64_t seed, int64_t seed2) : words_(Philox::FromSeeds(seed, seed2)) {}
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void Push(QueueTuple element) override { elements_.push_back(std::move(element)); }
  QueueTuple Pop() override {
    const size_t i = words_.Next() % elements_.size();
    QueueTuple chosen = std::exchange(elements_[i], std::move(elements_.back()));
    elements_.pop_back();
    return chosen;
  }
  void PutBack(QueueTuple element) override { Push(std::move(element)); }

 private:
  PhiloxWords words_;
  std::vector<QueueTuple> elements_;
};

}  // namespace

std::unique_ptr<QueueStore> MakeFifoStore() { return std::make_unique<FifoStore>(); }
std::unique_ptr<QueueStore> MakePriorityStore() { return std::make_unique<PriorityStore>(); }
std::unique_ptr<QueueStore> MakeShuffleStore(int64_t seed, int64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    seed = static_cast<int64_t>(RandomNonZero64());
    seed2 = static_cast<int64_t>(RandomNonZero64());
  }
  return std::make_unique<ShuffleStore>(seed, seed2);
}

}  // namespace tensorfleet::portable
