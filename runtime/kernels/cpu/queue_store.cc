#include "runtime/kernels/cpu/queue_store.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "runtime/base/random_id.h"

namespace tensorfleet::cpu {
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

// Philox 4x32-10, of which a queue needs single words in order.
class PhiloxWords {
 public:
  PhiloxWords(uint64_t seed, uint64_t seed2)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter_{0, 0, static_cast<uint32_t>(seed2), static_cast<uint32_t>(seed2 >> 32)} {}

  uint32_t Next() {
    if (used_ == block_.size()) {
      block_ = Block();
      used_ = 0;
      for (uint32_t& word : counter_) {
        if (++word != 0) break;
      }
    }
    return block_[used_++];
  }

 private:
  std::array<uint32_t, 4> Block() const {
    std::array<uint32_t, 4> x = counter_;
    std::array<uint32_t, 2> key = key_;
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * x[0];
      const uint64_t b = uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(a)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    return x;
  }

  const std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  size_t used_ = 4;
};

class ShuffleStore final : public QueueStore {
 public:
  ShuffleStore(uint64_t seed, uint64_t seed2) : words_(seed, seed2) {}
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
    return std::make_unique<ShuffleStore>(RandomNonZero64(), RandomNonZero64());
  }
  return std::make_unique<ShuffleStore>(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
}

}  // namespace tensorfleet::cpu
