// Readers and what is done with them, of both versions. Schemas:
// runtime/ops/portable/reader_ops.cc; what a reader does: reader.h.
#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/named_resource.h"
#include "runtime/kernels/portable/readers/reader.h"

namespace tensorfleet::portable {
namespace {

class MakeReader final : public Kernel {
 public:
  explicit MakeReader(KernelInit& init)
      : owned_(init), kind_(absl::StripSuffix(init.node().op(), "V2")) {
    if (kind_ == "TextLineReader") init.Get("skip_header_lines", &skipped_lines_);
    if (kind_ == "TFRecordReader") ReadCompression(init);
    if (kind_ == "FixedLengthRecordReader") ReadFormat(init);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_RETURN_IF_ERROR(owned_
                               .FindOrMake(ctx,
                                           [&]() -> StatusOr<ResourceRef<Reader>> {
                                             return ResourceRef<Reader>::Adopt(
                                                 new Reader(owned_.name(), MakeSource()));
                                           })
                               .status());
    owned_.SetOutput(ctx, "N10tensorflow15ReaderInterfaceE");
    return OkStatus();
  }

 private:
  void ReadCompression(KernelInit& init) {
    std::string name;
    init.Get("compression_type", &name);
    const StatusOr<Compression> compression = ParseCompression(name);
    if (compression.ok()) {
      compression_ = *compression;
    } else {
      init.Fail(compression.status());
    }
  }

  void ReadFormat(KernelInit& init) {
    std::string encoding;
    init.Get("header_bytes", &format_.header);
    init.Get("record_bytes", &format_.record);
    init.Get("footer_bytes", &format_.footer);
    init.Get("hop_bytes", &format_.hop);
    if (FindAttr(init.def(), "encoding") != nullptr) init.Get("encoding", &encoding);
    format_.is_zlib = encoding == "ZLIB";
    if (!encoding.empty() && !format_.is_zlib) {
      init.Fail(InvalidArgument("encoding must be '' or 'ZLIB', not '", encoding, "'"));
    }
    const std::pair<const char*, int64_t> sizes[] = {{"header_bytes", format_.header},
                                                     {"footer_bytes", format_.footer},
                                                     {"hop_bytes", format_.hop}};
    for (const auto& [name, size] : sizes) {
      if (size < 0) init.Fail(InvalidArgument(name, " must be >= 0 but found ", size));
    }
    if (format_.record <= 0) {
      init.Fail(InvalidArgument("record_bytes must be > 0 but found ", format_.record));
    }
  }

  std::unique_ptr<RecordSource> MakeSource() const {
    if (kind_ == "TextLineReader") return MakeTextLineSource(skipped_lines_);
    if (kind_ == "TFRecordReader") return MakeTFRecordSource(compression_);
    if (kind_ == "FixedLengthRecordReader") return MakeFixedLengthSource(format_);
    if (kind_ == "WholeFileReader") return MakeWholeFileSource();
    return MakeIdentitySource();
  }

  const NamedResource<Reader> owned_;
  const std::string kind_;
  int64_t skipped_lines_ = 0;
  Compression compression_ = Compression::kNone;
  FixedLengthFormat format_;
};

// ReaderRead, one record, and ReaderReadUpTo, some.
template <bool kMany>
class ReaderRead final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Done done) const override {
    const StatusOr<ResourceRef<Reader>> reader = LookupNamedResource<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    StatusOr<ResourceRef<Queue>> queue = LookupNamedResource<Queue>(ctx, 1);
    if (!queue.ok()) return done(queue.status());
    int64_t most = 1;
    if (kMany) {
      if (!ctx.input(2).shape().is_scalar()) {
        return done(InvalidArgument("num_records must be a scalar, not of shape ",
                                    ctx.input(2).shape().ToString()));
      }
      most = ctx.input(2).scalar<int64_t>();
      if (most < 0) return done(InvalidArgument("num_records must be >= 0, but is ", most));
    }
    (*reader)->Read(
        ctx, *std::move(queue), most,
        [&ctx, reader = *reader, done = std::move(done)](Status status, Reader::Records records) {
          if (status.ok()) {
            ctx.SetOutput(0, AsTensor(std::move(records.keys)));
            ctx.SetOutput(1, AsTensor(std::move(records.values)));
          }
          done(std::move(status));
        });
  }

 private:
  static Tensor AsTensor(std::vector<std::string> texts) {
    if (!kMany) return Tensor::Scalar<std::string>(std::move(texts.front()));
    return Tensor::Vector<std::string>(texts);
  }
};

class ReaderKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const final {
    TFLEET_ASSIGN_OR_RETURN(const ResourceRef<Reader> reader, LookupNamedResource<Reader>(ctx, 0));
    return Use(ctx, *reader);
  }

 private:
  virtual Status Use(KernelContext& ctx, Reader& reader) const = 0;
};

class RecordsProduced final : public ReaderKernel {
  Status Use(KernelContext& ctx, Reader& reader) const override {
    ctx.SetOutput(0, Tensor::Scalar<int64_t>(reader.records_produced()));
    return OkStatus();
  }
};

class WorkCompleted final : public ReaderKernel {
  Status Use(KernelContext& ctx, Reader& reader) const override {
    ctx.SetOutput(0, Tensor::Scalar<int64_t>(reader.work_completed()));
    return OkStatus();
  }
};

class ReaderReset final : public ReaderKernel {
  Status Use(KernelContext& ctx, Reader& reader) const override {
    reader.Reset();
    return OkStatus();
  }
};

class SerializeState final : public ReaderKernel {
  Status Use(KernelContext& ctx, Reader& reader) const override {
    TFLEET_ASSIGN_OR_RETURN(std::string state, reader.Save());
    ctx.SetOutput(0, Tensor::Scalar<std::string>(std::move(state)));
    return OkStatus();
  }
};

class RestoreState final : public ReaderKernel {
  Status Use(KernelContext& ctx, Reader& reader) const override {
    if (!ctx.input(1).shape().is_scalar()) {
      return InvalidArgument("Reader state must be scalar, but had shape: ",
                             ctx.input(1).shape().ToString());
    }
    return reader.Restore(ctx.input(1).scalar<std::string>());
  }
};

}  // namespace

void RegisterReaderKernels(KernelRegistry& kernels) {
  for (const char* version : {"", "V2"}) {
    const auto name = [version](const char* op) { return absl::StrCat(op, version); };
    for (const char* reader : {"TextLineReader", "TFRecordReader", "FixedLengthRecordReader",
                               "WholeFileReader", "IdentityReader"}) {
      kernels.Add<MakeReader>(name(reader), kCpu);
    }
    kernels.Add<ReaderRead<false>>(name("ReaderRead"), kCpu);
    kernels.Add<ReaderRead<true>>(name("ReaderReadUpTo"), kCpu);
    kernels.Add<RecordsProduced>(name("ReaderNumRecordsProduced"), kCpu);
    kernels.Add<WorkCompleted>(name("ReaderNumWorkUnitsCompleted"), kCpu);
    kernels.Add<ReaderReset>(name("ReaderReset"), kCpu);
    kernels.Add<SerializeState>(name("ReaderSerializeState"), kCpu);
    kernels.Add<RestoreState>(name("ReaderRestoreState"), kCpu);
  }
}

}  // namespace tensorfleet::portable
