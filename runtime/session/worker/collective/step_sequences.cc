#include "runtime/session/worker/collective/step_sequences.h"

#include "runtime/base/random_id.h"

namespace tensorfleet {
namespace {

// TensorFlow's leaders use 57 bits.
constexpr int64_t kMask = (int64_t{1} << 57) - 1;

// Room to count, and never 0.
int64_t Beginning() { return static_cast<int64_t>(RandomNonZero64() >> 9) | 1; }

}  // namespace

void StepSequences::MakeRoom() {
  if (sequences_.size() < kMost) return;
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    if (it->second.running.empty()) {
      sequences_.erase(it++);
    } else {
      ++it;
    }
  }
}

StepSequences::Sequence& StepSequences::Own(int64_t graph_key) {
  const Key key("", graph_key);
  const auto it = sequences_.find(key);
  if (it != sequences_.end()) return it->second;
  MakeRoom();
  Sequence& made = sequences_[key];
  made.next = Beginning();
  return made;
}

std::optional<int64_t> StepSequences::Next(const std::string& leader, int64_t graph_key) {
  MutexLock lock(&mu_);
  Sequence* sequence = nullptr;
  if (leader.empty()) {
    sequence = &Own(graph_key);
  } else {
    const auto it = sequences_.find(Key(leader, graph_key));
    if (it == sequences_.end() || it->second.next == 0) return std::nullopt;
    sequence = &it->second;
  }
  const int64_t id = sequence->next;
  sequence->next = (id + 1) & kMask;
  sequence->running.insert(id);
  sequence->last = id;
  return id;
}

int64_t StepSequences::Set(const std::string& leader, int64_t graph_key, int64_t next) {
  MutexLock lock(&mu_);
  MakeRoom();
  Sequence& sequence = sequences_[Key(leader, graph_key)];
  sequence.next = next;
  sequence.burnt = 0;
  return sequence.last;
}

void StepSequences::Over(const std::string& leader, int64_t graph_key, int64_t step_id, bool ok) {
  MutexLock lock(&mu_);
  const auto it = sequences_.find(Key(leader, graph_key));
  if (it == sequences_.end()) return;
  it->second.running.erase(step_id);
  if (ok || leader.empty()) return;
  it->second.next = 0;
  it->second.burnt = step_id;
}

int64_t StepSequences::Burnt(const std::string& leader, int64_t graph_key) const {
  MutexLock lock(&mu_);
  const auto it = sequences_.find(Key(leader, graph_key));
  return it == sequences_.end() ? 0 : it->second.burnt;
}

int64_t StepSequences::Current(int64_t graph_key) {
  MutexLock lock(&mu_);
  const Sequence& sequence = Own(graph_key);
  return sequence.running.empty() ? sequence.next : *sequence.running.begin();
}

StepSequences::Renewed StepSequences::Renew(int64_t graph_key, int64_t burnt) {
  MutexLock lock(&mu_);
  Sequence& sequence = Own(graph_key);
  Renewed renewed;
  renewed.is_running = sequence.running.count(burnt) > 0;
  if (renewed.is_running || sequence.running.empty() || burnt == sequence.next) {
    renewed.is_left_out = burnt == sequence.next;
    if (renewed.is_left_out) sequence.next = Beginning();
    renewed.next = sequence.next;
  } else {
    // Others have gone on since then.
    renewed.next = *sequence.running.begin();
  }
  return renewed;
}

}  // namespace tensorfleet
