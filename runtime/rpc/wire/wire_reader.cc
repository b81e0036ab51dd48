#include "runtime/rpc/wire/wire_reader.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>

#include "proto/tensor.pb.h"
#include "runtime/tensor/tensor_proto.h"

namespace tensorfleet::rpc {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

// Below this, protobuf's own parser is as good.
constexpr int kSmallTensor = 4096;

}  // namespace

WireReader::WireReader(grpc::ByteBuffer* buffer) : source_(buffer), in_(&source_) {
  in_.SetTotalBytesLimit(INT_MAX);
  in_.PushLimit(static_cast<int>(std::min<size_t>(buffer->Length(), INT_MAX)));
  if (!source_.status().ok()) ok_ = false;
}

bool WireReader::Next() {
  if (!ok_) return false;
  if (in_.BytesUntilLimit() == 0) return false;
  tag_ = in_.ReadTag();
  ok_ = tag_ != 0 && (tag_ >> 3) != 0;
  return ok_;
}

bool WireReader::Length(int* out) {
  if (!ok_ || (tag_ & 7) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
      !in_.ReadVarintSizeAsInt(out) || *out > in_.BytesUntilLimit()) {
    ok_ = false;
  }
  return ok_;
}

bool WireReader::Enter(CodedInputStream::Limit* outer) {
  int length = 0;
  if (!Length(&length)) return false;
  *outer = in_.PushLimit(length);
  return true;
}

void WireReader::Leave(CodedInputStream::Limit outer) {
  if (ok_ && in_.BytesUntilLimit() != 0) ok_ = false;
  in_.PopLimit(outer);
}

void WireReader::String(std::string* out) {
  int length = 0;
  if (Length(&length)) ok_ = in_.ReadString(out, length);
}

void WireReader::Varint(int64_t* out) {
  uint64_t value = 0;
  ok_ = ok_ && (tag_ & 7) == WireFormatLite::WIRETYPE_VARINT && in_.ReadVarint64(&value);
  *out = static_cast<int64_t>(value);
}

void WireReader::Bool(bool* out) {
  int64_t value = 0;
  Varint(&value);
  *out = value != 0;
}

void WireReader::Message(google::protobuf::MessageLite* out) {
  CodedInputStream::Limit outer;
  if (!Enter(&outer)) return;
  ok_ = out->MergePartialFromCodedStream(&in_) && in_.ConsumedEntireMessage();
  Leave(outer);
}

void WireReader::Skip() { ok_ = ok_ && WireFormatLite::SkipField(&in_, tag_); }

void WireReader::ReadNamedTensor(NamedTensor* out, Status* error) {
  CodedInputStream::Limit outer;
  if (!Enter(&outer)) return;
  bool has_tensor = false;
  while (Next()) {
    if (field() == 1) {
      String(&out->name);
    } else if (field() == 2) {
      ReadTensor(&out->tensor, error);
      has_tensor = true;
    } else {
      Skip();
    }
  }
  Leave(outer);
  if (!has_tensor && error->ok()) *error = InvalidArgument("there is no tensor");
}

void WireReader::ReadTensor(Tensor* out, Status* error) {
  CodedInputStream::Limit outer;
  if (!Enter(&outer)) return;
  if (in_.BytesUntilLimit() <= kSmallTensor) {
    tensorflow::TensorProto proto;
    ok_ = proto.MergePartialFromCodedStream(&in_) && in_.ConsumedEntireMessage();
    StatusOr<Tensor> tensor = TensorFromProto(proto);
    if (tensor.ok()) {
      *out = *std::move(tensor);
    } else if (error->ok()) {
      *error = tensor.status();
    }
  } else {
    TensorFields(out, error);
  }
  Leave(outer);
}

// The order in which servers write: dtype, shape, content. Whatever comes otherwise is left to
// protobuf.
void WireReader::TensorFields(Tensor* out, Status* error) {
  tensorflow::TensorProto proto;
  std::string others;
  Tensor direct;
  while (Next()) {
    if (field() == 1) {
      int64_t dtype = 0;
      Varint(&dtype);
      proto.set_dtype(static_cast<tensorflow::DataType>(dtype));
    } else if (field() == 2) {
      Message(proto.mutable_tensor_shape());
    } else if (field() == 4) {
      int length = 0;
      if (!Length(&length)) return;
      const StatusOr<Shape> shape = Shape::FromProto(proto.tensor_shape());
      const int number = proto.dtype();
      const auto dtype = static_cast<DType>(number);
      if (shape.ok() && IsValidDType(number) && !IsRef(dtype) && IsPlainData(dtype) && length > 0 &&
          static_cast<uint64_t>(shape->num_elements()) ==
              static_cast<uint64_t>(length) / ElementSize(dtype) &&
          length % ElementSize(dtype) == 0) {
        StatusOr<Tensor> tensor = Tensor::Allocate(dtype, *shape);
        if (!tensor.ok()) {
          if (error->ok()) *error = tensor.status();
          ok_ = in_.Skip(length);
          continue;
        }
        direct = *std::move(tensor);
        ok_ = in_.ReadRaw(direct.mutable_raw(), length);
      } else {
        ok_ = in_.ReadString(proto.mutable_tensor_content(), length);
      }
    } else {
      StringOutputStream sink(&others);
      CodedOutputStream copy(&sink);
      ok_ = WireFormatLite::SkipField(&in_, tag_, &copy);
    }
  }
  if (!ok_ || !error->ok()) return;
  if (direct.is_valid()) {
    *out = std::move(direct);
    return;
  }
  tensorflow::TensorProto rest;
  if (!rest.ParseFromString(others)) {
    ok_ = false;
    return;
  }
  proto.MergeFrom(rest);
  StatusOr<Tensor> tensor = TensorFromProto(proto);
  if (tensor.ok()) {
    *out = *std::move(tensor);
  } else {
    *error = tensor.status();
  }
}

Status Unparsable() {
  return Internal("Unable to parse request: it is malformed, or its messages are nested more than ",
                  CodedInputStream::GetDefaultRecursionLimit(), " deep");
}

bool ParseMessage(grpc::ByteBuffer* buffer, google::protobuf::MessageLite* message) {
  grpc::ProtoBufferReader source(buffer);
  if (!source.status().ok()) return false;
  CodedInputStream in(&source);
  in.SetTotalBytesLimit(INT_MAX);
  return message->ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  if (size == 0) {
    grpc::Slice empty;
    return grpc::ByteBuffer(&empty, 1);
  }
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer ViewOf(const std::string& bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace tensorfleet::rpc
