#include "runtime/opfuzz/fenced_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/base/check.h"
#include "runtime/tensor/buffer_source.h"

namespace tensorfleet::opfuzz {
namespace {

constexpr size_t kPage = 4096;
constexpr uint8_t kUntouched = 0xa5;

size_t RoundedUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

// One page that is closed, the pages of the data, and another closed one.
StatusOr<BufferRef> FencedBuffer(size_t size) {
  const size_t open = RoundedUp(std::max<size_t>(size, 1), kPage), all = open + 2 * kPage;
  void* const mapped = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return ResourceExhausted("out of memory allocating ", size, " bytes");
  uint8_t* const first = static_cast<uint8_t*>(mapped) + kPage;
  if (mprotect(first, open, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, all);
    return ResourceExhausted("out of memory allocating ", size, " bytes");
  }
  // Against the end, or now and then against the beginning.
  static std::atomic<uint32_t> turn{0};
  const bool at_the_end = turn.fetch_add(1, std::memory_order_relaxed) % 4 != 0;
  const size_t before = at_the_end ? open - RoundedUp(size, kBufferAlignment) : 0;
  uint8_t* const data = first + before;
  uint8_t* const end = first + open;
  std::fill(first, data, kUntouched);
  std::fill(data + size, end, kUntouched);
  return WrapHostBuffer(data, size, [=] {
    for (const uint8_t* p = first; p < data; ++p) TFLEET_CHECK(*p == kUntouched);
    for (const uint8_t* p = data + size; p < end; ++p) TFLEET_CHECK(*p == kUntouched);
    munmap(mapped, all);
  });
}

}  // namespace

void FenceTensors() { SetHostBufferSource(&FencedBuffer); }

}  // namespace tensorfleet::opfuzz
