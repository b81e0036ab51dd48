#include "runtime/kernels/queue_levels.h"

#include <map>
#include <utility>

namespace tensorfleet {

QueueLevels& QueueLevels::All() {
  static QueueLevels* const levels = new QueueLevels;
  return *levels;
}

void QueueLevels::Add(const void* queue, std::function<QueueLevel()> read) {
  MutexLock lock(&mu_);
  queues_[queue] = std::move(read);
}

void QueueLevels::Remove(const void* queue) {
  MutexLock lock(&mu_);
  queues_.erase(queue);
}

std::vector<QueueLevel> QueueLevels::Read() const {
  std::map<std::pair<std::string, std::string>, QueueLevel> levels;
  {
    MutexLock lock(&mu_);
    for (const auto& [queue, read] : queues_) {
      QueueLevel one = read();
      const auto [it, is_first] = levels.try_emplace({one.name, one.kind}, one);
      if (is_first) continue;
      QueueLevel& sum = it->second;
      sum.elements += one.elements;
      sum.capacity = sum.capacity < 0 || one.capacity < 0 ? -1 : sum.capacity + one.capacity;
      sum.enqueues_waiting += one.enqueues_waiting;
      sum.dequeues_waiting += one.dequeues_waiting;
    }
  }
  std::vector<QueueLevel> sorted;
  for (auto& [key, level] : levels) sorted.push_back(std::move(level));
  return sorted;
}

}  // namespace tensorfleet
