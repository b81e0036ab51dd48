#include "runtime/io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace tensorfleet {

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view data) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // the library counts in int
  uint32_t state = ~crc;
  while (!data.empty()) {
    const size_t n = std::min(data.size(), kMostAtOnce);
    state = crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<char*>(data.data())),
                        static_cast<int>(n), state);
    data.remove_prefix(n);
  }
  return ~state;
}

}  // namespace tensorfleet
