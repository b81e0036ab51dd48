// Writes protobuf messages by hand for the calls that carry tensors: what is small goes into one
// block, a tensor's buffer is appended as it is and kept alive until gRPC has sent it. Not
// thread-safe.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace google::protobuf {
class MessageLite;
}

namespace tensorfleet::rpc {

// A tensor as the fields of a TensorProto: everything but the raw content, and where that is.
struct EncodedTensor {
  std::string header;  // dtype, shape, tag and length of tensor_content
  std::string framed;  // content of strings, handles and variants
  Tensor tensor;       // content of plain data, sent from its own buffer
  size_t content_size() const { return framed.empty() ? tensor.bytes() : framed.size(); }
  size_t size() const { return header.size() + content_size(); }
};
// Errors: Unimplemented for a variant that cannot leave its process; OutOfRange for content of 2
// GiB or more.
StatusOr<EncodedTensor> EncodeTensor(const Tensor& tensor);

class WireWriter {
 public:
  void Varint(int field, uint64_t value);          // nothing for 0
  void Bytes(int field, absl::string_view value);  // nothing when empty
  void BytesOrEmpty(int field, absl::string_view value);
  void Message(int field, const google::protobuf::MessageLite& message);
  void TensorMessage(int field, EncodedTensor tensor);
  // A NamedTensorProto.
  void NamedTensorMessage(int field, absl::string_view name, EncodedTensor tensor);

  size_t size() const { return size_; }
  // The message. Leaves the writer empty.
  grpc::ByteBuffer Finish();

 private:
  void Tag(int field, int wire_type);
  void RawVarint(uint64_t value);
  void Raw(absl::string_view bytes);
  void Content(EncodedTensor tensor);
  void Flush();

  std::string block_;
  std::vector<grpc::Slice> slices_;
  size_t size_ = 0;
};

// All bytes in one place, for what is not sent by gRPC.
std::string Flatten(const grpc::ByteBuffer& buffer);

size_t VarintSize(uint64_t value);

}  // namespace tensorfleet::rpc
