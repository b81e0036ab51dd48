#include "runtime/base/memory_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>

namespace tensorfleet {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// For what is never refused: threads, messages, the system's own.
size_t LessReserve(size_t limit) {
  if (limit == kNone) return limit;
  return limit - std::clamp(limit / 16, std::min(limit, size_t{64} << 20), size_t{1} << 30);
}

// The number in a file of the control group; none when there is no such file or it says "max".
size_t NumberIn(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return kNone;
  char text[32] = {};
  const ssize_t got = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (got <= 0 || text[0] < '0' || text[0] > '9') return kNone;
  return std::strtoull(text, nullptr, 10);
}

size_t ResidentLimitOfSystem() {
  const size_t machine =
      static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return LessReserve(std::min({machine, NumberIn("/sys/fs/cgroup/memory.max"),
                               NumberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes")}));
}

size_t AddressLimitOfSystem() {
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNone;
  return LessReserve(limit.rlim_cur);
}

std::atomic<size_t>& ResidentLimit() {
  static std::atomic<size_t> limit{ResidentLimitOfSystem()};
  return limit;
}

size_t AddressLimit() {
  static const size_t limit = AddressLimitOfSystem();
  return limit;
}

struct Usage {
  size_t address = 0, resident = 0;
};

Usage UsageNow() {
  static const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  static const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  char text[96] = {};
  if (file < 0 || ::pread(file, text, sizeof(text) - 1, 0) <= 0) return {};
  char* next = nullptr;
  Usage usage;
  usage.address = std::strtoull(text, &next, 10) * page;
  usage.resident = std::strtoull(next, nullptr, 10) * page;
  return usage;
}

bool Fits(size_t used, size_t more, size_t limit) {
  return limit == kNone || (used <= limit && more <= limit - used);
}

}  // namespace

bool MemoryAllows(size_t bytes, size_t counted) noexcept {
  const size_t resident = ResidentLimit().load(std::memory_order_relaxed);
  const size_t address = AddressLimit();
  if (resident == kNone && address == kNone) return true;
  const Usage now = UsageNow();
  return Fits(std::max(now.resident, counted), bytes, resident) &&
         Fits(now.address, bytes, address);
}

size_t MemoryLimit() noexcept {
  return std::min(ResidentLimit().load(std::memory_order_relaxed), AddressLimit());
}

void SetMemoryLimit(size_t bytes) noexcept { ResidentLimit().store(bytes == 0 ? kNone : bytes); }

}  // namespace tensorfleet

// Sanitizers have operators of their own, which see more.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define TFLEET_SANITIZED
#endif
#endif

#ifndef TFLEET_SANITIZED
void* operator new(size_t bytes) {
  if (bytes >= tensorfleet::kMemoryWorthLooking && !tensorfleet::MemoryAllows(bytes)) {
    throw std::bad_alloc();
  }
  // As the standard says: a handler may make room, as long as there is one.
  while (true) {
    if (void* const got = std::malloc(bytes == 0 ? 1 : bytes)) return got;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
