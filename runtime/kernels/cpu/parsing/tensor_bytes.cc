// Tensors as bytes: SerializeTensor, ParseTensor, Fingerprint, DecodeJSONExample. Schemas and shape
// rules: runtime/ops/parsing/decode_ops.cc.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "proto/example.pb.h"
#include "proto/tensor.pb.h"
#include "runtime/kernels/cpu/string/fingerprint.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::cpu {
namespace {

class SerializeTensor final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& tensor = ctx.input(0);
    tensorflow::TensorProto proto;
    if (tensor.dtype() == DType::kString) {
      // Each string in a field of its own.
      proto.set_dtype(tensorflow::DT_STRING);
      tensor.shape().ToProto(proto.mutable_tensor_shape());
      for (const std::string& text : tensor.values<std::string>()) proto.add_string_val(text);
    } else {
      TFLEET_RETURN_IF_ERROR(TensorToProto(tensor, &proto));
    }
    std::string bytes;
    if (!proto.SerializeToString(&bytes)) {
      return InvalidArgument("a tensor of ", tensor.total_bytes(),
                             " bytes is too large to be serialized");
    }
    ctx.SetOutput(0, Tensor::Scalar<std::string>(std::move(bytes)));
    return OkStatus();
  }
};

class ParseTensor final : public Kernel {
 public:
  explicit ParseTensor(KernelInit& init) { init.Get("out_type", &type_); }
  Status Compute(KernelContext& ctx) const override {
    if (!ctx.input(0).shape().is_scalar()) {
      return InvalidArgument("Expected `serialized` to be a scalar, got shape: ",
                             ctx.input(0).shape().ToString());
    }
    const std::string& bytes = ctx.input(0).scalar<std::string>();
    tensorflow::TensorProto proto;
    if (!proto.ParseFromString(bytes)) {
      return InvalidArgument("Could not parse `serialized` as TensorProto, base64: ",
                             absl::Base64Escape(absl::string_view(bytes).substr(0, 1000)));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto));
    if (tensor.dtype() != type_) {
      return InvalidArgument("Type mismatch between parsed tensor (", DTypeName(tensor.dtype()),
                             ") and dtype (", DTypeName(type_), ")");
    }
    ctx.SetOutput(0, std::move(tensor));
    return OkStatus();
  }

 private:
  DType type_ = DType::kInvalid;
};

class FingerprintRows final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& data = ctx.input(0);
    const Tensor& method = ctx.input(1);
    if (!method.shape().is_scalar()) {
      return InvalidArgument("`method` should be a scalar string: ", method.shape().ToString());
    }
    if (method.scalar<std::string>() != "farmhash64") {
      return InvalidArgument("Unsupported fingerprint method: ", method.scalar<std::string>());
    }
    if (data.rank() == 0) {
      return InvalidArgument("`data` should have at least one dimension: ",
                             data.shape().ToString());
    }
    if (data.dtype() != DType::kString && !IsPlainData(data.dtype())) {
      return InvalidArgument("Fingerprint is not supported for ", DTypeName(data.dtype()));
    }
    const int64_t rows = data.dim(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kUInt8, {rows, 8}));
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t width = data.num_elements() / rows;
      const uint64_t print =
          data.dtype() == DType::kString
              ? OfStrings(data.values<std::string>().subspan(row * width, width), data.rank() > 1)
              : Fingerprint64(PlainRow(data, row, width));
      std::memcpy(out.mutable_values<uint8_t>().data() + row * sizeof(print), &print,
                  sizeof(print));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static absl::string_view PlainRow(const Tensor& data, int64_t row, int64_t width) {
    const size_t bytes = width * ElementSize(data.dtype());
    return {static_cast<const char*>(data.raw()) + row * bytes, bytes};
  }
  // Of rows: the fingerprint of their elements' fingerprints.
  static uint64_t OfStrings(absl::Span<const std::string> row, bool is_row) {
    if (!is_row) return Fingerprint64(row[0]);
    std::string prints;
    for (const std::string& text : row) {
      const uint64_t print = Fingerprint64(text);
      prints.append(reinterpret_cast<const char*>(&print), sizeof(print));
    }
    return Fingerprint64(prints);
  }
};

// Through the type's description, as TensorFlow does it: the bytes are the same then.
class DecodeJsonExample final : public Kernel {
 public:
  DecodeJsonExample()
      : types_(google::protobuf::util::NewTypeResolverForDescriptorPool(
            kTypes, tensorflow::Example::descriptor()->file()->pool())) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, in.shape()));
    std::string* to = out.mutable_values<std::string>().data();
    for (const std::string& json : in.values<std::string>()) {
      const auto status = google::protobuf::util::JsonToBinaryString(
          types_.get(), absl::StrCat(kTypes, "/tensorflow.Example"), json, to++);
      if (status.ok()) continue;
      return InvalidArgument("Error while parsing JSON: ",
                             absl::string_view(status.message().data(), status.message().size()));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
  bool IsExpensive() const override { return true; }

 private:
  static constexpr char kTypes[] = "type.googleapis.com";
  const std::unique_ptr<google::protobuf::util::TypeResolver> types_;
};

}  // namespace

void RegisterTensorBytesKernels(KernelRegistry& r) {
  r.Add<SerializeTensor>("SerializeTensor", kCpu);
  r.Add<ParseTensor>("ParseTensor", kCpu);
  r.Add<FingerprintRows>("Fingerprint", kCpu);
  r.Add<DecodeJsonExample>("DecodeJSONExample", kCpu);
}

}  // namespace tensorfleet::cpu
