// Reads protobuf messages by hand for the calls that carry tensors: content goes from gRPC's slices
// straight into a tensor's aligned buffer. Everything comes from outside: lengths are checked
// before anything is allocated.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "runtime/base/status.h"
#include "runtime/session/worker/worker_interface.h"
#include "runtime/tensor/tensor.h"

namespace google::protobuf {
class MessageLite;
}

namespace tensorfleet::rpc {

// What is answered to bytes that are not the message that they should be. Says how deep messages
// may nest, for that is refused as well.
Status Unparsable();

// Walks over the fields of one message and of those inside it:
//   WireReader reader(&buffer);
//   while (reader.Next()) {
//     switch (reader.field()) {
//       case 1: reader.String(&handle); break;
//       default: reader.Skip();
//     }
//   }
//   if (!reader.ok()) ...
class WireReader {
 public:
  explicit WireReader(grpc::ByteBuffer* buffer);

  // Moves to the next field of the present message; false at its end or when the bytes make no
  // sense.
  bool Next();
  bool ok() const { return ok_; }
  int field() const { return static_cast<int>(tag_ >> 3); }

  // Each reads the value of the present field; of another wire type it is malformed.
  void String(std::string* out);
  void Varint(int64_t* out);
  void Bool(bool* out);
  void Message(google::protobuf::MessageLite* out);
  void Skip();
  // A TensorProto. Errors of the tensor itself (not of the framing) are kept in `*error`, the first
  // one counts.
  void ReadTensor(Tensor* out, Status* error);
  // A NamedTensorProto.
  void ReadNamedTensor(NamedTensor* out, Status* error);

 private:
  // Enters a length-delimited field; Leave ends it.
  bool Enter(google::protobuf::io::CodedInputStream::Limit* outer);
  void Leave(google::protobuf::io::CodedInputStream::Limit outer);
  bool Length(int* out);
  void TensorFields(Tensor* out, Status* error);

  grpc::ProtoBufferReader source_;
  google::protobuf::io::CodedInputStream in_;
  uint32_t tag_ = 0;
  bool ok_ = true;
};

// For reading bytes that did not come by gRPC, and must outlive the result.
grpc::ByteBuffer ViewOf(const std::string& bytes);

// Any message, by protobuf. False when the bytes cannot be parsed.
bool ParseMessage(grpc::ByteBuffer* buffer, google::protobuf::MessageLite* message);
grpc::ByteBuffer SerializeMessage(const google::protobuf::MessageLite& message);

}  // namespace tensorfleet::rpc
