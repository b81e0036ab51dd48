#include "runtime/kernels/buffer_snapshot.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"

namespace tensorfleet {
namespace {

constexpr int64_t kPage = 4096;
// What Next reads at once. An updater of these very bytes waits until they have been copied.
constexpr int64_t kPiece = 64 * kPage;

}  // namespace

struct SnapshotState {
  SnapshotState(BufferRef buffer, const char* begin, int64_t size)
      : hold(std::move(buffer)), begin(begin), size(size) {}

  Mutex mu;
  CondVar was_read;
  // The snapshot's own share of the buffer.
  BufferRef hold ABSL_GUARDED_BY(mu);
  const char* const begin;
  const int64_t size;
  int64_t position ABSL_GUARDED_BY(mu) = 0;  // a multiple of kPage before the end
  // What lies between the position and here is being copied, without the lock: who saves may have
  // little of the processor, and whoever updates other rows is not to wait for that.
  int64_t reading_end ABSL_GUARDED_BY(mu) = 0;
  // Pages that were about to be overwritten, by their number.
  absl::flat_hash_map<int64_t, std::unique_ptr<char[]>> kept ABSL_GUARDED_BY(mu);

  int64_t PageSize(int64_t page) const { return std::min(kPage, size - page * kPage); }

  void Keep(const char* from, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    // `from` may lie in another part of the buffer than this value.
    const int64_t first = std::max<int64_t>(from - begin, position);
    const int64_t end = std::min<int64_t>(from - begin + bytes, size);
    if (first >= end) return;
    for (int64_t page = first / kPage; page * kPage < end; ++page) {
      std::unique_ptr<char[]>& copy = kept[page];
      if (copy != nullptr) continue;
      copy = std::make_unique<char[]>(kPage);
      std::memcpy(copy.get(), begin + page * kPage, PageSize(page));
    }
  }

  bool IsReadingAny(const RowIndices& rows, const char* base, int64_t row_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    for (int64_t i = 0; i < rows.size(); ++i) {
      const int64_t from = base + rows[i] * row_bytes - begin;
      if (from < reading_end && from + row_bytes > position) return true;
    }
    return false;
  }

  // Copies the next bytes to `out`; how many.
  int64_t Read(char* out) {
    std::vector<std::unique_ptr<char[]>> aside;  // by page from the first one on; empty: none
    int64_t first = 0, end = 0;
    {
      MutexLock lock(&mu);
      first = position;
      end = reading_end = std::min(position + kPiece, size);
      if (!kept.empty()) aside.resize((end - first + kPage - 1) / kPage);
      for (size_t i = 0; i < aside.size(); ++i) {
        const auto it = kept.find(first / kPage + static_cast<int64_t>(i));
        if (it == kept.end()) continue;
        aside[i] = std::move(it->second);
        kept.erase(it);
      }
    }
    if (aside.empty()) std::memcpy(out, begin + first, end - first);
    for (size_t i = 0; i < aside.size(); ++i) {
      const int64_t offset = static_cast<int64_t>(i) * kPage;
      // A page that was kept may be changing where it was.
      const char* const page = aside[i] != nullptr ? aside[i].get() : begin + first + offset;
      std::memcpy(out + offset, page, std::min(kPage, end - first - offset));
    }
    MutexLock lock(&mu);
    position = end;
    was_read.NotifyAll();
    return end - first;
  }
};

namespace {

// The snapshots that there are, by buffer. Never destroyed.
struct Registry {
  // Looked at without the lock first: there is usually no snapshot at all.
  std::atomic<int> count{0};
  Mutex mu;
  // In the order in which they were taken, which is the order in which they are locked.
  absl::flat_hash_map<const Buffer*, std::vector<std::shared_ptr<SnapshotState>>> by_buffer
      ABSL_GUARDED_BY(mu);
};

Registry& AllSnapshots() {
  static Registry* const registry = new Registry();
  return *registry;
}

}  // namespace

BufferSnapshot::BufferSnapshot(Tensor value)
    : dtype_(value.dtype()),
      shape_(value.shape()),
      state_(std::make_shared<SnapshotState>(value.buffer(), static_cast<const char*>(value.raw()),
                                             static_cast<int64_t>(value.bytes()))),
      scratch_(new char[std::min<int64_t>(kPiece, static_cast<int64_t>(value.bytes()))]) {
  Registry& all = AllSnapshots();
  MutexLock lock(&all.mu);
  all.by_buffer[value.buffer().get()].push_back(state_);
  all.count.fetch_add(1, std::memory_order_relaxed);
}

BufferSnapshot::~BufferSnapshot() {
  BufferRef released;
  {
    MutexLock lock(&state_->mu);
    released = std::move(state_->hold);
    state_->hold = BufferRef();
    state_->position = state_->reading_end = state_->size;
    state_->kept.clear();
  }
  Registry& all = AllSnapshots();
  MutexLock lock(&all.mu);
  // An updater may have given the hold back to a snapshot that is on its way out; either way the
  // buffer is alive, so its address is still its own.
  const auto it = all.by_buffer.find(released.get());
  if (it == all.by_buffer.end()) return;
  auto& states = it->second;
  states.erase(std::remove(states.begin(), states.end(), state_), states.end());
  if (states.empty()) all.by_buffer.erase(it);
  all.count.fetch_sub(1, std::memory_order_relaxed);
}

absl::string_view BufferSnapshot::Next() {
  return absl::string_view(scratch_.get(), state_->Read(scratch_.get()));
}

bool BufferSnapshot::MayOverwrite(const Tensor& value, const RowIndices& rows, int64_t row_bytes)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {  // how many locks are held is known at run time only
  Registry& all = AllSnapshots();
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  std::vector<std::shared_ptr<SnapshotState>> states;
  {
    MutexLock lock(&all.mu);
    const auto it = all.by_buffer.find(value.buffer().get());
    if (it == all.by_buffer.end()) return false;
    states = it->second;
  }
  const char* const base = static_cast<const char*>(value.raw());
  for (const auto& state : states) {
    state->mu.Lock();
    while (state->IsReadingAny(rows, base, row_bytes)) state->was_read.Wait(&state->mu);
  }
  // Without the snapshots' shares, is `value` the only one? It keeps the buffer alive meanwhile.
  for (const auto& state : states) state->hold = BufferRef();
  const bool alone = value.buffer_is_unique();
  for (const auto& state : states) {
    state->hold = value.buffer();
    if (!alone) continue;
    for (int64_t i = 0; i < rows.size(); ++i) state->Keep(base + rows[i] * row_bytes, row_bytes);
  }
  for (const auto& state : states) state->mu.Unlock();
  return alone;
}

}  // namespace tensorfleet
