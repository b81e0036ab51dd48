#include "runtime/rpc/wire/master_codec.h"

#include "runtime/base/utf8.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/wire_writer.h"

namespace tensorfleet::rpc {
namespace {

Status BadFeed(size_t i, const Status& why) {
  return InvalidArgument("Invalid TensorProto for feed value ", i, ": ", why.message());
}

}  // namespace

Status DecodeRunStep(grpc::ByteBuffer* request, RunStepArgs* args, RunStepOptions* wire) {
  WireReader reader(request);
  Status bad_feed;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.String(&args->session_handle);
        break;
      case 2: {
        Status error;
        reader.ReadNamedTensor(&args->feeds.emplace_back(), &error);
        if (!error.ok() && bad_feed.ok()) bad_feed = BadFeed(args->feeds.size() - 1, error);
        break;
      }
      case 3:
        reader.String(&args->fetches.emplace_back());
        break;
      case 4:
        reader.String(&args->targets.emplace_back());
        break;
      case 5:
        reader.Message(&args->options);
        break;
      case 6:
        reader.String(&args->partial_run_handle);
        break;
      case 7:
        reader.Bool(&wire->store_errors_in_response_body);
        break;
      case 8:
        reader.Varint(&args->request_id);
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok() ? bad_feed : Unparsable();
}

Status DecodeRunCallable(grpc::ByteBuffer* request, RunCallableArgs* args) {
  WireReader reader(request);
  Status bad_feed;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.String(&args->session_handle);
        break;
      case 2:
        reader.Varint(&args->handle);
        break;
      case 3: {
        Status error;
        reader.ReadTensor(&args->feeds.emplace_back(), &error);
        if (!error.ok() && bad_feed.ok()) bad_feed = BadFeed(args->feeds.size() - 1, error);
        break;
      }
      case 4:
        reader.Varint(&args->request_id);
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok() ? bad_feed : Unparsable();
}

StatusOr<grpc::ByteBuffer> EncodeRunStepResponse(const RunStepResult& result) {
  WireWriter writer;
  for (const NamedTensor& fetch : result.fetches) {
    TFLEET_ASSIGN_OR_RETURN(EncodedTensor tensor, EncodeTensor(fetch.tensor));
    writer.NamedTensorMessage(1, fetch.name, std::move(tensor));
  }
  if (result.has_metadata) writer.Message(2, result.metadata);
  if (writer.size() >= size_t{1} << 31) {
    return OutOfRange("the fetched tensors take ", writer.size(),
                      " bytes together, which does not fit into a message of 2 GiB");
  }
  return writer.Finish();
}

grpc::ByteBuffer EncodeRunStepError(const Status& status) {
  WireWriter writer;
  writer.Varint(3, static_cast<uint64_t>(status.raw_code()));
  writer.Bytes(4, Utf8Text(status.message()));
  return writer.Finish();
}

StatusOr<grpc::ByteBuffer> EncodeRunCallableResponse(const RunStepResult& result) {
  WireWriter writer;
  for (const NamedTensor& fetch : result.fetches) {
    TFLEET_ASSIGN_OR_RETURN(EncodedTensor tensor, EncodeTensor(fetch.tensor));
    writer.TensorMessage(1, std::move(tensor));
  }
  writer.Message(2, result.metadata);
  if (writer.size() >= size_t{1} << 31) {
    return OutOfRange("the fetched tensors do not fit into a message of 2 GiB");
  }
  return writer.Finish();
}

}  // namespace tensorfleet::rpc
