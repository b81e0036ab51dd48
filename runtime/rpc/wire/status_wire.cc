#include "runtime/rpc/wire/status_wire.h"

#include <string>

#include "absl/strings/cord.h"
#include "proto/payloads.pb.h"
#include "runtime/base/utf8.h"

namespace tensorfleet::rpc {
namespace {

constexpr size_t kMaxMessageBytes = 3072;

}  // namespace

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Utf8Text(status.message(), kMaxMessageBytes);
  tensorflow::distributed_runtime::GrpcPayloadContainer payloads;
  status.ForEachPayload([&](absl::string_view key, const absl::Cord& value) {
    (*payloads.mutable_payloads())[std::string(key)] = std::string(value);
  });
  const auto code = static_cast<grpc::StatusCode>(status.raw_code());
  if (payloads.payloads().empty()) return grpc::Status(code, message);
  return grpc::Status(code, message, payloads.SerializeAsString());
}

Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  Status out(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  tensorflow::distributed_runtime::GrpcPayloadContainer payloads;
  if (!status.error_details().empty() && payloads.ParseFromString(status.error_details())) {
    for (const auto& [key, value] : payloads.payloads()) out.SetPayload(key, absl::Cord(value));
  }
  return out;
}

}  // namespace tensorfleet::rpc
