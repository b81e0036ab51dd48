#include "runtime/rpc/wire/wire_writer.h"

#include <google/protobuf/message_lite.h>

#include <utility>

#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::rpc {
namespace {

constexpr int kVarint = 0;
constexpr int kLengthDelimited = 2;
// Smaller contents are copied: cheaper than a slice of their own.
constexpr size_t kMinSliceBytes = 4096;
constexpr size_t kMaxMessageBytes = (size_t{1} << 31) - 1;

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendTag(int field, int wire_type, std::string* out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | wire_type, out);
}

void AppendShape(const Shape& shape, std::string* out) {
  std::string dims;
  for (const int64_t size : shape.dims()) {
    AppendTag(2, kLengthDelimited, &dims);
    if (size == 0) {
      AppendVarint(0, &dims);  // a dimension of size 0 is an empty message
      continue;
    }
    AppendVarint(1 + VarintSize(size), &dims);
    AppendTag(1, kVarint, &dims);
    AppendVarint(size, &dims);
  }
  AppendTag(2, kLengthDelimited, out);
  AppendVarint(dims.size(), out);
  out->append(dims);
}

void ReleaseTensor(void* tensor) { delete static_cast<Tensor*>(tensor); }
void ReleaseString(void* text) { delete static_cast<std::string*>(text); }

}  // namespace

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

StatusOr<EncodedTensor> EncodeTensor(const Tensor& tensor) {
  EncodedTensor out;
  AppendTag(1, kVarint, &out.header);
  AppendVarint(static_cast<uint64_t>(tensor.dtype()), &out.header);
  if (tensor.rank() > 0) AppendShape(tensor.shape(), &out.header);
  size_t size = 0;
  if (IsPlainData(tensor.dtype())) {
    out.tensor = tensor;
    size = tensor.bytes();
  } else {
    TFLEET_RETURN_IF_ERROR(EncodeTensorContent(tensor, &out.framed));
    size = out.framed.size();
  }
  if (size > kMaxMessageBytes - 4096) {
    return OutOfRange("a tensor of ", size,
                      " bytes does not fit into a message of 2 GiB: ", DTypeName(tensor.dtype()),
                      " ", tensor.shape().ToString());
  }
  AppendTag(4, kLengthDelimited, &out.header);
  AppendVarint(size, &out.header);
  return out;
}

void WireWriter::RawVarint(uint64_t value) {
  const size_t before = block_.size();
  AppendVarint(value, &block_);
  size_ += block_.size() - before;
}

void WireWriter::Tag(int field, int wire_type) {
  RawVarint(static_cast<uint64_t>(field) << 3 | wire_type);
}

void WireWriter::Raw(absl::string_view bytes) {
  block_.append(bytes.data(), bytes.size());
  size_ += bytes.size();
}

void WireWriter::Varint(int field, uint64_t value) {
  if (value == 0) return;
  Tag(field, kVarint);
  RawVarint(value);
}

void WireWriter::Bytes(int field, absl::string_view value) {
  if (!value.empty()) BytesOrEmpty(field, value);
}

void WireWriter::BytesOrEmpty(int field, absl::string_view value) {
  Tag(field, kLengthDelimited);
  RawVarint(value.size());
  Raw(value);
}

void WireWriter::Message(int field, const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  Tag(field, kLengthDelimited);
  RawVarint(size);
  const size_t before = block_.size();
  block_.resize(before + size);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(block_.data() + before));
  size_ += size;
}

void WireWriter::TensorMessage(int field, EncodedTensor tensor) {
  Tag(field, kLengthDelimited);
  RawVarint(tensor.size());
  Content(std::move(tensor));
}

void WireWriter::NamedTensorMessage(int field, absl::string_view name, EncodedTensor tensor) {
  Tag(field, kLengthDelimited);
  const size_t tensor_size = tensor.size();
  const size_t name_size = name.empty() ? 0 : 1 + VarintSize(name.size()) + name.size();
  RawVarint(name_size + 1 + VarintSize(tensor_size) + tensor_size);
  Bytes(1, name);
  TensorMessage(2, std::move(tensor));
}

void WireWriter::Content(EncodedTensor tensor) {
  Raw(tensor.header);
  const size_t size = tensor.content_size();
  if (size < kMinSliceBytes) {
    Raw(tensor.framed.empty()
            ? absl::string_view(static_cast<const char*>(tensor.tensor.raw()), size)
            : absl::string_view(tensor.framed));
    return;
  }
  Flush();
  size_ += size;
  if (tensor.framed.empty()) {
    auto* kept = new Tensor(std::move(tensor.tensor));
    slices_.emplace_back(kept->mutable_raw(), size, &ReleaseTensor, kept);
  } else {
    auto* kept = new std::string(std::move(tensor.framed));
    slices_.emplace_back(kept->data(), size, &ReleaseString, kept);
  }
}

void WireWriter::Flush() {
  if (block_.empty()) return;
  slices_.emplace_back(block_.data(), block_.size());
  block_.clear();
}

grpc::ByteBuffer WireWriter::Finish() {
  Flush();
  grpc::ByteBuffer buffer(slices_.data(), slices_.size());
  slices_.clear();
  size_ = 0;
  return buffer;
}

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  out.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return out;
}

}  // namespace tensorfleet::rpc
