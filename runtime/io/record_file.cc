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
  Status GoTo(uint64_t offset) override {
    if (offset < offset_) {
      return InvalidArgument(path_, ": byte ", offset, " has been read already");
    }
    TFLEET_RETURN_IF_ERROR(stream_->Skip(offset - offset_));
    offset_ = offset;
    return OkStatus();
  }

 private:
  Status Truncated() const { return DataLoss(path_, ": truncated record at ", offset_); }
  Status Corrupted() const { return DataLoss(path_, ": corrupted record at ", offset_); }

  const std::string path_;
  const std::unique_ptr<ByteStream> stream_;
  uint64_t offset_ = 0;
};

}  // namespace

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
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                          ByteStream::Open(files, path, compression));
  return std::make_unique<FileRecordReader>(path, std::move(stream));
}

}  // namespace tensorfleet
