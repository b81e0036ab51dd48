// Any bytes either are refused as a TensorProto or decode to a tensor that survives a round trip.

#include "proto/tensor.pb.h"
#include "runtime/base/check.h"
#include "runtime/tensor/tensor_proto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensorfleet;
  SetMaxHostBufferBytes(size_t{16} << 20);
  tensorflow::TensorProto proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  const StatusOr<Tensor> decoded = TensorFromProto(proto);
  if (!decoded.ok()) return 0;
  tensorflow::TensorProto again;
  if (!TensorToProto(*decoded, &again).ok()) return 0;
  const StatusOr<Tensor> back = TensorFromProto(again);
  TFLEET_CHECK(back.ok() && back->shape() == decoded->shape());
  return 0;
}
