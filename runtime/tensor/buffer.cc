#include "runtime/tensor/buffer.h"

#include <cstdlib>
#include <new>

#include "runtime/base/memory_limit.h"
#include "runtime/tensor/block_cache.h"
#include "runtime/tensor/buffer_source.h"
#include "runtime/tensor/memory_account.h"

namespace tensorfleet {
namespace {

std::atomic<size_t> g_max_bytes{size_t{64} << 30};
std::atomic<int64_t> g_bytes_in_use{0};
HostBufferSource g_source = nullptr;

// The object sits in front of its data, in one block.
constexpr size_t kHeader = kBufferAlignment;

// Small blocks come in a few sizes and are kept per thread: a scalar step then never meets malloc.
// A thread keeps at most kMaxKept blocks of a size, so a producer and a consumer on two threads
// cannot pile them up.
constexpr size_t kClassBytes[] = {64, 256, 1024};
constexpr int kNumClasses = 3;
constexpr int kMaxKept = 512;

// Sanitizers are to see every use of memory that was freed.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TFLEET_EVERY_BLOCK_FROM_MALLOC
#endif
#endif
#if defined(TFLEET_EVERY_BLOCK_FROM_MALLOC)
constexpr bool IsCached(size_t) { return false; }
#else
constexpr bool IsCached(size_t bytes) { return bytes >= BlockCache::kMinBytes; }
#endif

struct FreeBlock {
  FreeBlock* next;
};

struct FreeLists {
  FreeBlock* head[kNumClasses] = {};
  int count[kNumClasses] = {};
  ~FreeLists() {
    for (FreeBlock* block : head) {
      while (block != nullptr) std::free(std::exchange(block, block->next));
    }
  }
};

// Trivially destructible, so it stays readable while a thread ends and its last tensors die.
thread_local bool t_lists_gone = false;

FreeLists* ThreadLists() {
  struct Holder {
    FreeLists lists;
    ~Holder() { t_lists_gone = true; }
  };
  if (__builtin_expect(t_lists_gone, 0)) return nullptr;
  thread_local Holder holder;
  return &holder.lists;
}

int SizeClass(size_t size) {
  for (int c = 0; c < kNumClasses; ++c) {
    if (size <= kClassBytes[c]) return c;
  }
  return -1;
}

void* AllocateBlock(size_t size, int size_class) {
  if (size_class >= 0) {
    FreeLists* lists = ThreadLists();
    if (lists != nullptr && lists->head[size_class] != nullptr) {
      FreeBlock* block = lists->head[size_class];
      lists->head[size_class] = block->next;
      --lists->count[size_class];
      return block;
    }
    size = kClassBytes[size_class];
  }
  if (IsCached(kHeader + size)) return BlockCache::Process().Allocate(kHeader + size);
  const size_t rounded =
      (kHeader + size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  return std::aligned_alloc(kBufferAlignment, rounded);
}

void FreeBlockOf(void* block, size_t size, int size_class) {
  if (size_class < 0 && IsCached(kHeader + size)) {
    BlockCache::Process().Free(block, kHeader + size);
    return;
  }
  FreeLists* lists = size_class >= 0 ? ThreadLists() : nullptr;
  if (lists == nullptr || lists->count[size_class] >= kMaxKept) {
    std::free(block);
    return;
  }
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = lists->head[size_class];
  lists->head[size_class] = free_block;
  ++lists->count[size_class];
}

class HostBuffer final : public Buffer {
 public:
  // `account`, which may be null, has been charged; large buffers only.
  static HostBuffer* Make(size_t size, MemoryAccount* account) {
    const int size_class = SizeClass(size);
    void* block = AllocateBlock(size, size_class);
    if (block == nullptr) return nullptr;
    // Small buffers are too many to count one by one.
    if (size_class < 0) g_bytes_in_use.fetch_add(size, std::memory_order_relaxed);
    return new (block) HostBuffer(static_cast<char*>(block) + kHeader, size, size_class, account);
  }

 private:
  HostBuffer(void* data, size_t size, int size_class, MemoryAccount* account)
      : Buffer(data, size), class_(size_class), account_(account) {}
  void Destroy() override {
    const int size_class = class_;
    const size_t bytes = size();
    MemoryAccount* const account = account_;
    if (size_class < 0) g_bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
    this->~HostBuffer();
    FreeBlockOf(this, bytes, size_class);
    if (account != nullptr) account->Refund(static_cast<int64_t>(bytes));
  }
  const int class_;
  MemoryAccount* const account_;
};
static_assert(sizeof(HostBuffer) <= kHeader);

class WrappedBuffer final : public Buffer {
 public:
  WrappedBuffer(void* data, size_t size, std::function<void()> release)
      : Buffer(data, size), release_(std::move(release)) {}

 private:
  void Destroy() override {
    release_();
    delete this;
  }
  std::function<void()> release_;
};

}  // namespace

StatusOr<BufferRef> AllocateHostBuffer(size_t size) {
  if (size > g_max_bytes.load(std::memory_order_relaxed)) {
    return RefuseTensor(ResourceExhausted("a tensor of ", size, " bytes is over the limit of ",
                                          g_max_bytes.load(), " bytes for one tensor"));
  }
  if (g_source != nullptr) return g_source(size);
  MemoryAccount* const account = SizeClass(size) < 0 ? MemoryAccount::Current() : nullptr;
  if (account != nullptr) TFLEET_RETURN_IF_ERROR(account->Charge(static_cast<int64_t>(size)));
  HostBuffer* buffer = nullptr;
  if (size < kMemoryWorthLooking || MemoryAllows(size, HostBytesInUse())) {
    buffer = HostBuffer::Make(size, account);
  } else {
    // Perhaps what is kept for later is in the way.
    BlockCache::Process().ReleaseFreedBefore(BlockCache::TimePoint::max());
    if (MemoryAllows(size, HostBytesInUse())) buffer = HostBuffer::Make(size, account);
  }
  if (buffer == nullptr) {
    if (account != nullptr) account->Refund(static_cast<int64_t>(size));
    return RefuseTensor(ResourceExhausted("out of memory: no ", size, " bytes for a tensor, with ",
                                          HostBytesInUse(), " in use by others and ", MemoryLimit(),
                                          " allowed to the process"));
  }
  return BufferRef::Adopt(buffer);
}

BufferRef WrapHostBuffer(void* data, size_t size, std::function<void()> release) {
  return BufferRef::Adopt(new WrappedBuffer(data, size, std::move(release)));
}

void SetHostBufferSource(HostBufferSource source) { g_source = source; }
void SetMaxHostBufferBytes(size_t bytes) { g_max_bytes = bytes; }
size_t MaxHostBufferBytes() { return g_max_bytes; }
int64_t HostBytesInUse() { return g_bytes_in_use; }

}  // namespace tensorfleet
