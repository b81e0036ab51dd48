#include "runtime/kernels/portable/readers/record_source.h"

#include <algorithm>
#include <utility>

#include "runtime/io/file_system.h"
#include "runtime/io/inflate.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::portable {
namespace {

// A string of `size` bytes may be made: it is bounded like a tensor.
Status CheckBytes(size_t size) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({static_cast<int64_t>(size)}));
  return Tensor::CheckSize(DType::kUInt8, shape);
}

class IdentitySource final : public RecordSource {
 public:
  Status Start(const std::string& work) override {
    work_ = work;
    is_given_ = false;
    return OkStatus();
  }
  StatusOr<bool> Next(std::string* key, std::string* value) override {
    if (is_given_) return false;
    *key = *value = work_;
    is_given_ = true;
    return true;
  }
  bool IsOver() const override { return is_given_; }
  bool CanBeSaved() const override { return true; }

 private:
  std::string work_;
  bool is_given_ = false;
};

class WholeFileSource final : public RecordSource {
 public:
  Status Start(const std::string& work) override {
    work_ = work;
    is_given_ = false;
    return OkStatus();
  }
  StatusOr<bool> Next(std::string* key, std::string* value) override {
    if (is_given_) return false;
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(work_));
    TFLEET_ASSIGN_OR_RETURN(*value, ReadWholeFile(*path.file_system, path.path));
    *key = work_;
    is_given_ = true;
    return true;
  }
  bool IsOver() const override { return is_given_; }
  bool CanBeSaved() const override { return true; }

 private:
  std::string work_;
  bool is_given_ = false;
};

// Bytes of a file in pieces.
class BufferedFile {
 public:
  Status Open(const std::string& name) {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(name));
    TFLEET_ASSIGN_OR_RETURN(file_, path.file_system->Open(path.path));
    offset_ = 0;
    buffer_.clear();
    at_ = 0;
    return OkStatus();
  }
  // Up to and without the next line end, of either kind; false at the end.
  StatusOr<bool> ReadLine(std::string* line) {
    line->clear();
    bool has_any = false;
    while (true) {
      if (at_ == buffer_.size()) {
        TFLEET_RETURN_IF_ERROR(Fill());
        if (buffer_.empty()) break;
      }
      has_any = true;
      const size_t end = buffer_.find('\n', at_);
      const size_t stop = std::min(end, buffer_.size());
      line->append(buffer_, at_, stop - at_);
      at_ = end == std::string::npos ? buffer_.size() : end + 1;
      if (end != std::string::npos) break;
      TFLEET_RETURN_IF_ERROR(CheckBytes(line->size()));
    }
    if (!line->empty() && line->back() == '\r') line->pop_back();
    return has_any;
  }

 private:
  static constexpr uint64_t kPiece = 256 << 10;

  Status Fill() {
    const uint64_t size = std::min(kPiece, file_->size() - std::min(offset_, file_->size()));
    buffer_.resize(size);
    at_ = 0;
    if (size == 0) return OkStatus();
    TFLEET_RETURN_IF_ERROR(file_->Read(offset_, size, buffer_.data()));
    offset_ += size;
    return OkStatus();
  }

  std::unique_ptr<RandomAccessFile> file_;
  uint64_t offset_ = 0;  // of the buffer's end
  std::string buffer_;
  size_t at_ = 0;
};

class TextLineSource final : public RecordSource {
 public:
  explicit TextLineSource(int64_t skipped) : skipped_(skipped) {}
  Status Start(const std::string& work) override {
    TFLEET_RETURN_IF_ERROR(file_.Open(work));
    work_ = work;
    std::string line;
    for (line_ = 0; line_ < skipped_; ++line_) {
      TFLEET_ASSIGN_OR_RETURN(const bool is_there, file_.ReadLine(&line));
      if (!is_there) break;
    }
    return OkStatus();
  }
  StatusOr<bool> Next(std::string* key, std::string* value) override {
    TFLEET_ASSIGN_OR_RETURN(const bool is_there, file_.ReadLine(value));
    if (is_there) *key = absl::StrCat(work_, ":", ++line_);
    return is_there;
  }

 private:
  const int64_t skipped_;
  std::string work_;
  BufferedFile file_;
  int64_t line_ = 0;
};

class TFRecordSource final : public RecordSource {
 public:
  explicit TFRecordSource(Compression compression) : compression_(compression) {}
  Status Start(const std::string& work) override {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(work));
    TFLEET_ASSIGN_OR_RETURN(reader_, RecordReader::Open(path.file_system, path.path, compression_));
    work_ = work;
    return OkStatus();
  }
  StatusOr<bool> Next(std::string* key, std::string* value) override {
    const uint64_t begin = reader_->offset();
    TFLEET_ASSIGN_OR_RETURN(const bool is_there, reader_->Read(value));
    if (is_there) *key = absl::StrCat(work_, ":", begin);
    return is_there;
  }

 private:
  const Compression compression_;
  std::string work_;
  std::unique_ptr<RecordReader> reader_;
};

class FixedLengthSource final : public RecordSource {
 public:
  explicit FixedLengthSource(const FixedLengthFormat& format) : format_(format) {}
  Status Start(const std::string& work) override {
    TFLEET_ASSIGN_OR_RETURN(const ResolvedPath path, ResolvePath(work));
    if (format_.is_zlib) {
      TFLEET_ASSIGN_OR_RETURN(const std::string packed,
                              ReadWholeFile(*path.file_system, path.path));
      TFLEET_RETURN_IF_ERROR(Inflate(packed, InflateFormat::kZlib, CheckBytes, &contents_));
      end_ = static_cast<int64_t>(contents_.size());
    } else {
      TFLEET_ASSIGN_OR_RETURN(file_, path.file_system->Open(path.path));
      end_ = static_cast<int64_t>(file_->size());
    }
    end_ -= std::min(end_, format_.footer);
    at_ = format_.header;
    number_ = 0;
    work_ = work;
    return OkStatus();
  }
  StatusOr<bool> Next(std::string* key, std::string* value) override {
    if (at_ > end_ || format_.record > end_ - at_) return false;
    TFLEET_RETURN_IF_ERROR(CheckBytes(format_.record));
    value->resize(format_.record);
    if (format_.is_zlib) {
      contents_.copy(value->data(), value->size(), at_);
    } else {
      TFLEET_RETURN_IF_ERROR(file_->Read(at_, value->size(), value->data()));
    }
    // What is beyond the end says the same wherever it is.
    const int64_t hop = format_.hop == 0 ? format_.record : format_.hop;
    at_ = hop > end_ - at_ ? end_ + 1 : at_ + hop;
    *key = absl::StrCat(work_, ":", number_++);
    return true;
  }

 private:
  const FixedLengthFormat format_;
  std::string work_, contents_;
  std::unique_ptr<RandomAccessFile> file_;
  int64_t at_ = 0, end_ = 0, number_ = 0;
};

}  // namespace

std::unique_ptr<RecordSource> MakeIdentitySource() { return std::make_unique<IdentitySource>(); }
std::unique_ptr<RecordSource> MakeWholeFileSource() { return std::make_unique<WholeFileSource>(); }
std::unique_ptr<RecordSource> MakeTextLineSource(int64_t skipped_lines) {
  return std::make_unique<TextLineSource>(skipped_lines);
}
std::unique_ptr<RecordSource> MakeTFRecordSource(Compression compression) {
  return std::make_unique<TFRecordSource>(compression);
}
std::unique_ptr<RecordSource> MakeFixedLengthSource(const FixedLengthFormat& format) {
  return std::make_unique<FixedLengthSource>(format);
}

}  // namespace tensorfleet::portable
