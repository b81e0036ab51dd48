#include "runtime/io/record_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/io/crc32c.h"

namespace tensorfleet {
namespace {

constexpr size_t kBufferBytes = 262144;
constexpr size_t kHeaderBytes = 12;  // length and its checksum
constexpr size_t kFooterBytes = 4;   // checksum of the data
// More than any record that a server could have sent: a length beyond it is damage, not data.
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 32;

uint64_t DecodeFixed(const char* bytes, int n) {
  uint64_t value = 0;
  for (int i = n - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}
void EncodeFixed(uint64_t value, int n, char* bytes) {
  for (int i = 0; i < n; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
}

int WindowBits(Compression compression) {
  return compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

// Deflates what is appended to it.
class DeflatingFile final : public WritableFile {
 public:
  DeflatingFile(std::unique_ptr<WritableFile> file, Compression compression)
      : file_(std::move(file)), out_(kBufferBytes) {
    TFLEET_CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WindowBits(compression),
                              8, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~DeflatingFile() override { deflateEnd(&stream_); }

  Status Append(absl::string_view data) override {
    while (!data.empty()) {
      const absl::string_view piece = data.substr(0, size_t{1} << 30);
      TFLEET_RETURN_IF_ERROR(Deflate(piece, Z_NO_FLUSH));
      data.remove_prefix(piece.size());
    }
    return OkStatus();
  }
  Status Sync() override {
    return FailedPrecondition("a compressed file is complete only once closed");
  }
  Status Close() override {
    if (closed_) return OkStatus();
    closed_ = true;
    TFLEET_RETURN_IF_ERROR(Deflate("", Z_FINISH));
    return file_->Close();
  }

 private:
  Status Deflate(absl::string_view data, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      TFLEET_CHECK(deflate(&stream_, flush) != Z_STREAM_ERROR);
      TFLEET_RETURN_IF_ERROR(
          file_->Append(absl::string_view(out_.data(), out_.size() - stream_.avail_out)));
    } while (stream_.avail_out == 0);
    return OkStatus();
  }

  const std::unique_ptr<WritableFile> file_;
  std::vector<char> out_;
  z_stream stream_{};
  bool closed_ = false;
};

class FileRecordWriter final : public RecordWriter {
 public:
  explicit FileRecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  Status Write(absl::string_view record) override {
    char header[kHeaderBytes];
    EncodeFixed(record.size(), 8, header);
    EncodeFixed(MaskCrc(Crc32c(absl::string_view(header, 8))), 4, header + 8);
    char footer[kFooterBytes];
    EncodeFixed(MaskCrc(Crc32c(record)), 4, footer);
    TFLEET_RETURN_IF_ERROR(file_->Append(absl::string_view(header, kHeaderBytes)));
    TFLEET_RETURN_IF_ERROR(file_->Append(record));
    return file_->Append(absl::string_view(footer, kFooterBytes));
  }
  Status Flush() override { return file_->Flush(); }
  Status Close() override { return file_->Close(); }

 private:
  const std::unique_ptr<WritableFile> file_;
};

// The bytes of a file in order.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `n` bytes; fewer only at the end.
  virtual StatusOr<size_t> Read(size_t n, char* out) = 0;
};

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
  uint64_t offset_ = 0;
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

 private:
  const std::string path_;
  const std::unique_ptr<ByteStream> source_;
  std::vector<char> in_;
  z_stream stream_{};
  bool in_member_ = false;
};

class FileRecordReader final : public RecordReader {
 public:
  FileRecordReader(std::string path, std::unique_ptr<ByteStream> stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}

  StatusOr<bool> Read(std::string* record) override {
    record->clear();
    char header[kHeaderBytes];
    TFLEET_ASSIGN_OR_RETURN(const size_t got, stream_->Read(kHeaderBytes, header));
    if (got == 0) return false;
    if (got < kHeaderBytes) return Truncated();
    const uint64_t length = DecodeFixed(header, 8);
    const uint32_t length_crc = MaskCrc(Crc32c(absl::string_view(header, 8)));
    if (length_crc != DecodeFixed(header + 8, 4)) return Corrupted();
    if (length > kMaxRecordBytes) return Corrupted();
    // Grows with what is really there.
    for (uint64_t left = length; left > 0;) {
      const size_t piece = static_cast<size_t>(std::min<uint64_t>(left, uint64_t{16} << 20));
      const size_t before = record->size();
      record->resize(before + piece);
      TFLEET_ASSIGN_OR_RETURN(const size_t n, stream_->Read(piece, record->data() + before));
      if (n < piece) return Truncated();
      left -= piece;
    }
    char footer[kFooterBytes];
    TFLEET_ASSIGN_OR_RETURN(const size_t n, stream_->Read(kFooterBytes, footer));
    if (n < kFooterBytes) return Truncated();
    if (MaskCrc(Crc32c(*record)) != DecodeFixed(footer, 4)) return Corrupted();
    offset_ += kHeaderBytes + length + kFooterBytes;
    return true;
  }
  uint64_t offset() const override { return offset_; }

 private:
  Status Truncated() const { return DataLoss(path_, ": truncated record at ", offset_); }
  Status Corrupted() const { return DataLoss(path_, ": corrupted record at ", offset_); }

  const std::string path_;
  const std::unique_ptr<ByteStream> stream_;
  uint64_t offset_ = 0;
};

}  // namespace

StatusOr<Compression> ParseCompression(absl::string_view name) {
  if (name.empty() || name == "NONE") return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return InvalidArgument("Unsupported compression_type: ", name, "; there are \"\", ZLIB and GZIP");
}

StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Open(FileSystem* files,
                                                           const std::string& path,
                                                           Compression compression) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files->Create(path));
  if (compression != Compression::kNone) {
    file = std::make_unique<DeflatingFile>(std::move(file), compression);
  }
  return std::make_unique<FileRecordWriter>(std::move(file));
}

StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(FileSystem* files,
                                                           const std::string& path,
                                                           Compression compression) {
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files->Open(path));
  std::unique_ptr<ByteStream> stream = std::make_unique<PlainStream>(std::move(file));
  if (compression != Compression::kNone) {
    stream = std::make_unique<InflatingStream>(path, std::move(stream), compression);
  }
  return std::make_unique<FileRecordReader>(path, std::move(stream));
}

}  // namespace tensorfleet
