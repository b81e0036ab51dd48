// TFRecordDataset, TextLineDataset and FixedLengthRecordDataset: the records of files, one file
// after the other.
#include <utility>

#include "runtime/base/thread_pool.h"
#include "runtime/data/dataset_kernel.h"
#include "runtime/data/families.h"
#include "runtime/data/iterator.h"
#include "runtime/data/source/record_streams.h"

namespace tensorfleet::data {
namespace {

class FileRecords final : public Dataset {
 public:
  FileRecords(std::vector<std::string> files, std::vector<int64_t> offsets, RecordFormat format)
      : Dataset({{DType::kString}, {PartialShape(Shape())}}, {}),
        files_(std::move(files)),
        offsets_(std::move(offsets)),
        format_(std::move(format)) {}
  const std::vector<std::string>& files() const { return files_; }
  const RecordFormat& format() const { return format_; }
  uint64_t OffsetOf(size_t file) const {
    return offsets_.empty() ? 0 : static_cast<uint64_t>(offsets_[file]);
  }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const std::vector<std::string> files_;
  const std::vector<int64_t> offsets_;  // none, or one for each
  const RecordFormat format_;
};

class FileRecordsIterator final : public Iterator {
 public:
  explicit FileRecordsIterator(const FileRecords* dataset) : dataset_(Kept(dataset)) {}
  bool MayWait() const override { return true; }
  StatusOr<bool> Next(Element* out) override {
    std::string record;
    while (file_ < dataset_->files().size()) {
      if (stream_ == nullptr) {
        const Status opened = OpenFile(dataset_->OffsetOf(file_));
        if (!opened.ok()) {
          ++file_;
          return opened;
        }
      }
      const StatusOr<bool> more = stream_->Read(&record);
      if (more.ok() && *more) {
        out->clear();
        out->push_back(Tensor::Scalar(std::move(record)));
        return true;
      }
      // What is behind a damaged place in a file cannot be found.
      stream_.reset();
      ++file_;
      TFLEET_RETURN_IF_ERROR(more.status());
    }
    return false;
  }
  Status Save(StateWriter& to) override {
    to.PutInt("file", static_cast<int64_t>(file_));
    to.PutInt("offset", stream_ == nullptr ? -1 : static_cast<int64_t>(stream_->place()));
    return OkStatus();
  }
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t file, from.GetInt("file"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t offset, from.GetInt("offset"));
    const int64_t n = static_cast<int64_t>(dataset_->files().size());
    if (file < 0 || file > n)
      return InvalidArgument("the saved iterator reads file ", file, " of ", n);
    file_ = file;
    stream_.reset();
    return offset < 0 || file == n ? OkStatus() : OpenFile(offset);
  }

 private:
  Status OpenFile(uint64_t place) {
    TFLEET_ASSIGN_OR_RETURN(stream_, OpenRecords(dataset_->files()[file_], dataset_->format()));
    return place == 0 ? OkStatus() : stream_->GoTo(place);
  }

  const std::shared_ptr<const FileRecords> dataset_;
  size_t file_ = 0;
  std::unique_ptr<RecordStream> stream_;
};

StatusOr<IteratorPtr> FileRecords::MakeIterator(IteratorScope&, int) const {
  return IteratorPtr(std::make_unique<FileRecordsIterator>(this));
}

// filenames, compression_type, buffer_size and, of TFRecordDatasetV2, byte_offsets.
template <RecordFormat::Kind kKind>
class LinesKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(std::vector<std::string> files, StringsInput(ctx, 0, "filenames"));
    TFLEET_ASSIGN_OR_RETURN(const std::string compression,
                            ScalarInput<std::string>(ctx, 1, "compression_type"));
    RecordFormat format;
    format.kind = kKind;
    TFLEET_ASSIGN_OR_RETURN(format.compression, ParseCompression(compression));
    TFLEET_ASSIGN_OR_RETURN(const int64_t buffer, ScalarInput<int64_t>(ctx, 2, "buffer_size"));
    // Newer clients say -1 for TFRecords whose program leaves the size open.
    if (buffer < 0 && !(kKind == RecordFormat::Kind::kTFRecord && buffer == -1)) {
      return InvalidArgument("`buffer_size` must be >= 0 (0 == default)");
    }
    std::vector<int64_t> offsets;
    if (ctx.num_inputs() > 3) {
      const auto given = ctx.input(3).values<int64_t>();
      offsets.assign(given.begin(), given.end());
      if (!offsets.empty() && offsets.size() != files.size()) {
        return InvalidArgument("filenames and byte_offsets must have the same size, not ",
                               files.size(), " and ", offsets.size());
      }
      for (const int64_t offset : offsets) {
        if (offset < 0) return InvalidArgument("a byte offset is ", offset, ", below 0");
      }
    }
    return std::make_shared<FileRecords>(std::move(files), std::move(offsets), format);
  }
};

// filenames, header_bytes, record_bytes, footer_bytes, buffer_size and, of the second version,
// compression_type.
class FixedLengthKernel final : public DatasetKernel {
 public:
  using DatasetKernel::DatasetKernel;

 private:
  StatusOr<DatasetRef> Make(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(std::vector<std::string> files, StringsInput(ctx, 0, "filenames"));
    RecordFormat format;
    format.kind = RecordFormat::Kind::kFixedLength;
    TFLEET_ASSIGN_OR_RETURN(format.header_bytes, ScalarInput<int64_t>(ctx, 1, "header_bytes"));
    TFLEET_ASSIGN_OR_RETURN(format.record_bytes, ScalarInput<int64_t>(ctx, 2, "record_bytes"));
    TFLEET_ASSIGN_OR_RETURN(format.footer_bytes, ScalarInput<int64_t>(ctx, 3, "footer_bytes"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t buffer, ScalarInput<int64_t>(ctx, 4, "buffer_size"));
    if (format.header_bytes < 0) return InvalidArgument("header_bytes must be >= 0");
    if (format.record_bytes <= 0) return InvalidArgument("record_bytes must be > 0");
    if (format.footer_bytes < 0) return InvalidArgument("footer_bytes must be >= 0");
    if (buffer < 0) return InvalidArgument("buffer_size must be >= 0 (0 == default)");
    if (ctx.num_inputs() > 5) {
      TFLEET_ASSIGN_OR_RETURN(const std::string compression,
                              ScalarInput<std::string>(ctx, 5, "compression_type"));
      TFLEET_ASSIGN_OR_RETURN(format.compression, ParseCompression(compression));
    }
    return std::make_shared<FileRecords>(std::move(files), std::vector<int64_t>(), format);
  }
};

}  // namespace

void RegisterFileSourceKernels(KernelRegistry& kernels) {
  using Kind = RecordFormat::Kind;
  kernels.Add<LinesKernel<Kind::kTFRecord>>("TFRecordDataset", kCpu);
  kernels.Add<LinesKernel<Kind::kTFRecord>>("TFRecordDatasetV2", kCpu);
  kernels.Add<LinesKernel<Kind::kLine>>("TextLineDataset", kCpu);
  kernels.Add<FixedLengthKernel>("FixedLengthRecordDataset", kCpu);
  kernels.Add<FixedLengthKernel>("FixedLengthRecordDatasetV2", kCpu);
}

}  // namespace tensorfleet::data
