#include "runtime/io/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/check.h"

namespace tensorfleet {
namespace {

constexpr size_t kBufferBytes = 262144;

int WindowBits(Compression compression) {
  return compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(std::unique_ptr<RandomAccessFile> file) : file_(std::move(file)) {}

  StatusOr<size_t> Read(size_t n, char* out) override {
    size_t done = 0;
    while (done < n) {
      if (at_ == buffer_.size()) {
        TFLEET_RETURN_IF_ERROR(Fill());
        if (buffer_.empty()) break;
      }
      const size_t piece = std::min(n - done, buffer_.size() - at_);
      std::memcpy(out + done, buffer_.data() + at_, piece);
      at_ += piece;
      done += piece;
    }
    return done;
  }

  Status Skip(uint64_t n) override {
    const uint64_t here = std::min<uint64_t>(n, buffer_.size() - at_);
    at_ += here;
    n -= here;
    if (n > file_->size() - std::min(file_->size(), offset_)) {
      return OutOfRange(file_->path(), " ends before byte ", n, " behind ", offset_);
    }
    offset_ += n;
    return OkStatus();
  }

 private:
  Status Fill() {
    // The file may be growing, as event files do while they are watched: the size is that of its
    // opening.
    const uint64_t left = file_->size() - std::min(file_->size(), offset_);
    buffer_.resize(std::min<uint64_t>(kBufferBytes, left));
    at_ = 0;
    if (buffer_.empty()) return OkStatus();
    TFLEET_RETURN_IF_ERROR(file_->Read(offset_, buffer_.size(), buffer_.data()));
    offset_ += buffer_.size();
    return OkStatus();
  }

  const std::unique_ptr<RandomAccessFile> file_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  uint64_t offset_ = 0;  // of what comes behind the buffer
};

class InflatingStream final : public ByteStream {
 public:
  InflatingStream(std::string path, std::unique_ptr<ByteStream> source, Compression compression)
      : path_(std::move(path)), source_(std::move(source)), in_(kBufferBytes) {
    TFLEET_CHECK(inflateInit2(&stream_, WindowBits(compression)) == Z_OK);
  }
  ~InflatingStream() override { inflateEnd(&stream_); }

  StatusOr<size_t> Read(size_t n, char* out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(n);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        TFLEET_ASSIGN_OR_RETURN(const size_t got, source_->Read(in_.size(), in_.data()));
        if (got == 0) {
          if (in_member_) return DataLoss(path_, ": the compressed data is cut off");
          break;
        }
        stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
        stream_.avail_in = static_cast<uInt>(got);
      }
      in_member_ = true;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        // Compressed files may be put together by appending one to the other.
        in_member_ = false;
        inflateReset(&stream_);
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return DataLoss(path_, ": the compressed data is damaged: ",
                        stream_.msg == nullptr ? "unknown error" : stream_.msg);
      }
    }
    return n - stream_.avail_out;
  }
  // By reading.
  Status Skip(uint64_t n) override {
    std::vector<char> skipped(kBufferBytes);
    while (n > 0) {
      const size_t piece = std::min<uint64_t>(n, skipped.size());
      TFLEET_ASSIGN_OR_RETURN(const size_t got, Read(piece, skipped.data()));
      if (got < piece) return OutOfRange(path_, " ends before the place that was asked for");
      n -= piece;
    }
    return OkStatus();
  }

 private:
  const std::string path_;
  const std::unique_ptr<ByteStream> source_;
  std::vector<char> in_;
  z_stream stream_{};
  bool in_member_ = false;
};

}  // namespace

StatusOr<Compression> ParseCompression(absl::string_view name) {
  if (name.empty() || name == "NONE") return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return InvalidArgument("Unsupported compression_type: ", name, "; there are \"\", ZLIB and GZIP");
}

StatusOr<std::unique_ptr<ByteStream>> ByteStream::Open(FileSystem* files, const std::string& path,
                                                       Compression compression) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files->Open(path));
  std::unique_ptr<ByteStream> stream = std::make_unique<PlainStream>(std::move(file));
  if (compression != Compression::kNone) {
    stream = std::make_unique<InflatingStream>(path, std::move(stream), compression);
  }
  return stream;
}

}  // namespace tensorfleet
