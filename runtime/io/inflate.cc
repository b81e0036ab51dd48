#include "runtime/io/inflate.h"

#include <zlib.h>

#include <algorithm>

namespace tensorfleet {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr size_t kMostAtOnce = 1u << 30;  // zlib counts in 32 bits
constexpr absl::string_view kGzipMagic = "\x1f\x8b";

}  // namespace

Status Inflate(absl::string_view bytes, InflateFormat format,
               absl::FunctionRef<Status(size_t)> look, std::string* out) {
  out->clear();
  if (bytes.empty()) return OkStatus();
  const bool is_gzip = format == InflateFormat::kGzip;
  z_stream stream = {};
  if (inflateInit2(&stream, is_gzip ? MAX_WBITS + 16 : MAX_WBITS) != Z_OK) {
    return ResourceExhausted("no memory to decompress");
  }
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } const end{&stream};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  size_t left = bytes.size(), filled = 0;
  while (true) {
    TFLEET_RETURN_IF_ERROR(look(filled + kPiece));
    if (out->size() < filled + kPiece) out->resize(std::max(filled + kPiece, 2 * filled));
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min(left, kMostAtOnce));
      left -= stream.avail_in;
    }
    const uInt room = static_cast<uInt>(std::min(out->size() - filled, kMostAtOnce));
    stream.next_out = reinterpret_cast<Bytef*>(out->data() + filled);
    stream.avail_out = room;
    const int result = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      const absl::string_view rest(reinterpret_cast<const char*>(stream.next_in),
                                   stream.avail_in + left);
      if (!is_gzip || rest.substr(0, 2) != kGzipMagic) break;
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR) {
      break;  // nothing is left to read
    } else if (result != Z_OK) {
      return DataLoss("inflate() failed with error ", result, ": ",
                      stream.msg == nullptr ? "" : stream.msg);
    }
  }
  out->resize(filled);
  return OkStatus();
}

}  // namespace tensorfleet
