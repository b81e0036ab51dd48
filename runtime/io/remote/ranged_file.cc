#include "runtime/io/remote/ranged_file.h"

#include <algorithm>
#include <cstring>

namespace tensorfleet {
namespace {

constexpr size_t kFirstWindow = 1 << 20, kLargestWindow = 8 << 20;

}  // namespace

Status RangedFile::Read(uint64_t offset, size_t n, char* out) const {
  if (offset > size_ || n > size_ - offset) {
    return OutOfRange(path_, "; Read less bytes than requested: the file ends at ", size_,
                      ", wanted ", n, " bytes from ", offset);
  }
  if (n == 0) return OkStatus();
  if (n >= kLargestWindow) {
    TFLEET_ASSIGN_OR_RETURN(const std::string got, Fetch(offset, n));
    std::memcpy(out, got.data(), n);
    return OkStatus();
  }
  MutexLock lock(&mu_);
  const uint64_t window_end = window_begin_ + window_.size();
  if (offset < window_begin_ || offset + n > window_end) {
    const bool goes_on = !window_.empty() && offset >= window_begin_ && offset <= window_end;
    size_t wanted = goes_on ? std::min(2 * window_bytes_, kLargestWindow) : kFirstWindow;
    wanted = std::min<uint64_t>(std::max(wanted, n), size_ - offset);
    TFLEET_ASSIGN_OR_RETURN(std::string got, Fetch(offset, wanted));
    window_ = std::move(got);
    window_begin_ = offset;
    window_bytes_ = wanted;
  }
  std::memcpy(out, window_.data() + (offset - window_begin_), n);
  return OkStatus();
}

void RangedFile::SetWindow(uint64_t offset, std::string bytes) {
  MutexLock lock(&mu_);
  window_ = std::move(bytes);
  window_begin_ = offset;
  window_bytes_ = window_.size();
}

StatusOr<std::string> WholeRange(std::string body, const std::string& path, uint64_t offset,
                                 size_t n) {
  if (body.size() == n) return body;
  return DataLoss(path, "; wanted ", n, " bytes from ", offset, ", the store gave ", body.size());
}

}  // namespace tensorfleet
