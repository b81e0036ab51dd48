// CacheDataset in a file: the elements of the first whole run are kept in a TFRecord file for the
// next ones, here and in other processes.
#include "proto/tensor.pb.h"
#include "runtime/base/random_id.h"
#include "runtime/data/composed.h"
#include "runtime/data/unary_iterator.h"
#include "runtime/io/record_file.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::data {
namespace {

class FileCached final : public Dataset {
 public:
  FileCached(DatasetRef input, ResolvedPath path)
      : Dataset(input->type(), {input}), path_(std::move(path)) {}
  FileSystem* file_system() const { return path_.file_system; }
  // One record for each component of each element; whole as soon as it is there.
  const std::string& path() const { return path_.path; }
  int64_t Cardinality() const override { return input()->Cardinality(); }

 private:
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const override;
  const ResolvedPath path_;
};

class FileCachedIterator final : public UnaryIterator<FileCached> {
 public:
  using UnaryIterator::UnaryIterator;
  ~FileCachedIterator() override { Drop(); }
  // The file is looked for with the first element: making an iterator waits for nothing.
  Status Open() override { return OkStatus(); }
  bool MayWait() const override { return true; }

  StatusOr<bool> Next(Element* out) override {
    if (mode_ == Mode::kUnknown) TFLEET_RETURN_IF_ERROR(Begin());
    if (mode_ == Mode::kReads) return ReadElement(out);
    if (input_ == nullptr) return false;
    const StatusOr<bool> more = NextInput(out);
    if (mode_ != Mode::kWrites) return more;
    const Status written = !more.ok() ? more.status() : *more ? Write(*out) : Publish();
    if (!written.ok()) {
      // A cache that lacks elements is none.
      Drop();
      mode_ = Mode::kPasses;
      return written;
    }
    return more;
  }

  Status Save(StateWriter& to) override {
    to.PutInt("mode", static_cast<int64_t>(mode_));
    to.PutInt("offset", reader_ == nullptr ? 0 : static_cast<int64_t>(reader_->offset()));
    return UnaryIterator::Save(to);
  }
  // What had been written is not found again: this run goes on without writing.
  Status Restore(StateReader& from) override {
    TFLEET_ASSIGN_OR_RETURN(const int64_t mode, from.GetInt("mode"));
    TFLEET_ASSIGN_OR_RETURN(const int64_t offset, from.GetInt("offset"));
    if (mode == static_cast<int64_t>(Mode::kUnknown)) return OkStatus();
    if (mode == static_cast<int64_t>(Mode::kReads)) {
      if (offset < 0) return InvalidArgument("the saved iterator is at byte ", offset);
      TFLEET_RETURN_IF_ERROR(OpenReader());
      return reader_->GoTo(offset);
    }
    mode_ = Mode::kPasses;
    return UnaryIterator::Restore(from);
  }

 private:
  enum class Mode { kUnknown, kReads, kWrites, kPasses };

  Status Begin() {
    if (dataset_->file_system()->Exists(dataset_->path())) return OpenReader();
    TFLEET_RETURN_IF_ERROR(OpenInput());
    temporary_ = TemporaryPath(dataset_->path());
    TFLEET_RETURN_IF_ERROR(dataset_->file_system()->CreateDirs(DirectoryOf(dataset_->path())));
    TFLEET_ASSIGN_OR_RETURN(writer_, RecordWriter::Open(dataset_->file_system(), temporary_));
    mode_ = Mode::kWrites;
    return OkStatus();
  }
  Status OpenReader() {
    TFLEET_ASSIGN_OR_RETURN(reader_, RecordReader::Open(dataset_->file_system(), dataset_->path()));
    mode_ = Mode::kReads;
    return OkStatus();
  }

  StatusOr<bool> ReadElement(Element* out) {
    if (reader_ == nullptr) return false;
    out->clear();
    std::string record;
    for (const DType type : dataset_->type().types) {
      TFLEET_ASSIGN_OR_RETURN(const bool more, reader_->Read(&record));
      if (!more && out->empty()) {
        reader_.reset();
        return false;
      }
      tensorflow::TensorProto proto;
      if (!more || !proto.ParseFromString(record)) {
        return DataLoss(dataset_->path(), " is no whole cache: delete it to have it made again");
      }
      TFLEET_ASSIGN_OR_RETURN(Tensor component, TensorFromProto(proto));
      if (component.dtype() != type) {
        return InvalidArgument(dataset_->path(), " holds ", DTypeName(component.dtype()),
                               " where the data set has ", DTypeName(type),
                               ": it is another data set's cache");
      }
      out->push_back(std::move(component));
    }
    return true;
  }

  Status Write(const Element& element) {
    for (const Tensor& component : element) {
      tensorflow::TensorProto proto;
      TFLEET_RETURN_IF_ERROR(TensorToProto(component, &proto));
      TFLEET_RETURN_IF_ERROR(writer_->Write(proto.SerializeAsString()));
    }
    return OkStatus();
  }
  Status Publish() {
    TFLEET_RETURN_IF_ERROR(writer_->Close());
    writer_.reset();
    mode_ = Mode::kPasses;
    return dataset_->file_system()->Rename(temporary_, dataset_->path());
  }
  void Drop() {
    if (writer_ == nullptr) return;
    writer_.reset();
    dataset_->file_system()->Delete(temporary_).IgnoreError();
  }

  Mode mode_ = Mode::kUnknown;
  std::string temporary_;
  std::unique_ptr<RecordWriter> writer_;
  std::unique_ptr<RecordReader> reader_;
};

StatusOr<IteratorPtr> FileCached::MakeIterator(IteratorScope& scope, int depth) const {
  return Opened<FileCachedIterator>(this, scope, depth);
}

}  // namespace

StatusOr<DatasetRef> MakeFileCache(DatasetRef input, const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(ResolvedPath resolved, ResolvePath(path));
  resolved.path += ".cache";
  return DatasetRef(std::make_shared<FileCached>(std::move(input), std::move(resolved)));
}

}  // namespace tensorfleet::data
