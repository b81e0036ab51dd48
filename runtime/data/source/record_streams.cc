#include "runtime/data/source/record_streams.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/io/record_file.h"

namespace tensorfleet::data {
namespace {

constexpr size_t kPiece = 65536;

class TFRecords final : public RecordStream {
 public:
  explicit TFRecords(std::unique_ptr<RecordReader> reader) : reader_(std::move(reader)) {}
  StatusOr<bool> Read(std::string* record) override { return reader_->Read(record); }
  uint64_t place() const override { return reader_->offset(); }
  Status GoTo(uint64_t place) override { return reader_->GoTo(place); }

 private:
  const std::unique_ptr<RecordReader> reader_;
};

// A stream through a buffer that is looked into.
class Buffered {
 public:
  explicit Buffered(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  // What is there and not used yet; more of it when there is nothing. Empty at the end.
  StatusOr<absl::string_view> Peek() {
    if (at_ == size_) {
      at_ = 0;
      size_ = 0;
      buffer_.resize(kPiece);
      TFLEET_ASSIGN_OR_RETURN(size_, stream_->Read(kPiece, buffer_.data()));
    }
    return absl::string_view(buffer_.data() + at_, size_ - at_);
  }
  void Use(size_t n) {
    at_ += n;
    place_ += n;
  }
  uint64_t place() const { return place_; }
  Status GoTo(uint64_t place) {
    const uint64_t n = place - std::min(place, place_);
    const uint64_t here = std::min<uint64_t>(n, size_ - at_);
    Use(here);
    place_ += n - here;
    return stream_->Skip(n - here);
  }

 private:
  const std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  size_t at_ = 0, size_ = 0;
  uint64_t place_ = 0;
};

// Lines end with "\n" or "\r\n", the last one perhaps with neither.
class Lines final : public RecordStream {
 public:
  explicit Lines(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  StatusOr<bool> Read(std::string* record) override {
    record->clear();
    bool any = false;
    while (true) {
      TFLEET_ASSIGN_OR_RETURN(const absl::string_view there, stream_.Peek());
      if (there.empty()) break;
      any = true;
      const void* const end = std::memchr(there.data(), '\n', there.size());
      const size_t length =
          end == nullptr ? there.size() : static_cast<const char*>(end) - there.data();
      record->append(there.data(), length);
      stream_.Use(length + (end != nullptr));
      if (end != nullptr) break;
    }
    if (!record->empty() && record->back() == '\r') record->pop_back();
    return any;
  }
  uint64_t place() const override { return stream_.place(); }
  Status GoTo(uint64_t place) override { return stream_.GoTo(place); }

 private:
  Buffered stream_;
};

// What is held back, as many bytes as the footer has, may be the footer.
class FixedLength final : public RecordStream {
 public:
  FixedLength(std::string path, std::unique_ptr<ByteStream> stream, RecordFormat format)
      : path_(std::move(path)), stream_(std::move(stream)), format_(std::move(format)) {}
  StatusOr<bool> Read(std::string* record) override {
    if (place_ < static_cast<uint64_t>(format_.header_bytes)) {
      TFLEET_RETURN_IF_ERROR(stream_->Skip(format_.header_bytes - place_));
      place_ = format_.header_bytes;
    }
    const uint64_t wanted =
        static_cast<uint64_t>(format_.record_bytes) + static_cast<uint64_t>(format_.footer_bytes);
    // Grows with what is really there.
    while (ahead_.size() < wanted) {
      const size_t piece =
          std::min<uint64_t>(std::max<size_t>(ahead_.size(), kPiece), wanted - ahead_.size());
      const size_t before = ahead_.size();
      ahead_.resize(before + piece);
      TFLEET_ASSIGN_OR_RETURN(const size_t got, stream_->Read(piece, ahead_.data() + before));
      ahead_.resize(before + got);
      if (got < piece) break;
    }
    if (ahead_.size() < wanted) {
      if (ahead_.size() == static_cast<size_t>(format_.footer_bytes)) return false;
      return DataLoss(path_, ": its length is not that of a header of ", format_.header_bytes,
                      " bytes, records of ", format_.record_bytes, " and a footer of ",
                      format_.footer_bytes, "; the incomplete record begins at byte ", place_);
    }
    record->assign(ahead_, 0, format_.record_bytes);
    ahead_.erase(0, format_.record_bytes);
    place_ += format_.record_bytes;
    return true;
  }
  uint64_t place() const override { return place_; }
  Status GoTo(uint64_t place) override {
    ahead_.clear();
    place_ = place;
    return stream_->Skip(place);
  }

 private:
  const std::string path_;
  const std::unique_ptr<ByteStream> stream_;
  const RecordFormat format_;
  std::string ahead_;   // read, and not given out
  uint64_t place_ = 0;  // of the first byte of `ahead_`
};

}  // namespace

StatusOr<std::unique_ptr<RecordStream>> OpenRecords(const std::string& path,
                                                    const RecordFormat& format) {
  TFLEET_ASSIGN_OR_RETURN(const ResolvedPath at, ResolvePath(path));
  if (format.kind == RecordFormat::Kind::kTFRecord) {
    TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                            RecordReader::Open(at.file_system, at.path, format.compression));
    return std::unique_ptr<RecordStream>(std::make_unique<TFRecords>(std::move(reader)));
  }
  TFLEET_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                          ByteStream::Open(at.file_system, at.path, format.compression));
  if (format.kind == RecordFormat::Kind::kLine) {
    return std::unique_ptr<RecordStream>(std::make_unique<Lines>(std::move(stream)));
  }
  return std::unique_ptr<RecordStream>(
      std::make_unique<FixedLength>(path, std::move(stream), format));
}

}  // namespace tensorfleet::data
