#include "runtime/rpc/services/introspection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/generated_message_reflection.h>

#include <set>

#include "proto/master_service.pb.h"
#include "proto/worker_service.pb.h"
#include "runtime/rpc/wire/wire_reader.h"
#include "runtime/rpc/wire/wire_writer.h"

namespace tensorfleet::rpc {
namespace {

constexpr const char* kServices[] = {"tensorfleet.ControlService", "tensorflow.MasterService",
                                     "tensorflow.WorkerService", "grpc.health.v1.Health",
                                     "grpc.reflection.v1alpha.ServerReflection"};
constexpr int kServing = 1, kNotServing = 2;

std::string Flat(grpc::ByteBuffer buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  for (const grpc::Slice& slice : slices) {
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return out;
}

grpc::ByteBuffer BufferOf(absl::string_view bytes) {
  grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

// The files that define `file`, itself first.
void AddFiles(const google::protobuf::FileDescriptor* file, std::set<std::string>* seen,
              WireWriter* out) {
  if (!seen->insert(file->name()).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  out->Message(1, proto);
  for (int i = 0; i < file->dependency_count(); ++i) AddFiles(file->dependency(i), seen, out);
}

const google::protobuf::DescriptorPool& Pool() {
  // Nothing else refers to the services' descriptors, which the linker would leave out.
  static const google::protobuf::internal::AddDescriptorsRunner add_master(
      &descriptor_table_proto_2fmaster_5fservice_2eproto);
  static const google::protobuf::internal::AddDescriptorsRunner add_worker(
      &descriptor_table_proto_2fworker_5fservice_2eproto);
  return *google::protobuf::DescriptorPool::generated_pool();
}

}  // namespace

StatusOr<std::string> Health::Check(absl::string_view request) const {
  grpc::ByteBuffer bytes = BufferOf(request);
  WireReader reader(&bytes);
  std::string service;
  while (reader.Next()) {
    if (reader.field() == 1) {
      reader.String(&service);
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return Unparsable();
  bool is_known = service.empty();
  for (const char* name : kServices) is_known |= service == name;
  if (!is_known) return NotFound("there is no service '", service, "' here");
  WireWriter response;
  response.Varint(1, serving_ ? kServing : kNotServing);
  return Flat(response.Finish());
}

std::unique_ptr<RawService> MakeHealthService(const Health* health) {
  return std::make_unique<RawService>(std::vector<RawService::Method>{
      {"/grpc.health.v1.Health/Check", [health](ServerCall* call) {
         const StatusOr<std::string> response = health->Check(Flat(*call->request()));
         if (response.ok()) {
           call->Reply(BufferOf(*response));
         } else {
           call->ReplyError(response.status());
         }
       }}});
}

std::string Reflect(absl::string_view request) {
  grpc::ByteBuffer bytes = BufferOf(request);
  WireReader reader(&bytes);
  std::string host, file_name, symbol;
  bool wants_list = false, is_known = false;
  while (reader.Next()) {
    std::string ignored;
    switch (reader.field()) {
      case 1:
        reader.String(&host);
        break;
      case 3:
        reader.String(&file_name);
        is_known = true;
        break;
      case 4:
        reader.String(&symbol);
        is_known = true;
        break;
      case 7:
        reader.String(&ignored);
        wants_list = is_known = true;
        break;
      default:
        reader.Skip();
    }
  }
  WireWriter response;
  response.Bytes(1, host);
  response.Bytes(2, request);
  WireWriter answer;
  if (wants_list) {
    for (const char* name : kServices) {
      WireWriter service;
      service.Bytes(1, name);
      answer.BytesOrEmpty(1, Flat(service.Finish()));
    }
    response.BytesOrEmpty(6, Flat(answer.Finish()));
    return Flat(response.Finish());
  }
  const google::protobuf::FileDescriptor* file = nullptr;
  if (!file_name.empty()) {
    file = Pool().FindFileByName(file_name);
  } else if (!symbol.empty()) {
    file = Pool().FindFileContainingSymbol(symbol);
  }
  if (file != nullptr) {
    std::set<std::string> seen;
    AddFiles(file, &seen, &answer);
    response.BytesOrEmpty(4, Flat(answer.Finish()));
    return Flat(response.Finish());
  }
  answer.Varint(1, is_known ? static_cast<int>(absl::StatusCode::kNotFound)
                            : static_cast<int>(absl::StatusCode::kUnimplemented));
  answer.Bytes(2, is_known ? "unknown file or symbol" : "this kind of request is not supported");
  response.BytesOrEmpty(7, Flat(answer.Finish()));
  return Flat(response.Finish());
}

// One stream. Its operations follow each other; deletes itself after the last.
class StreamCall final : public Tag {
 public:
  StreamCall(StreamMethods* methods, grpc::ServerCompletionQueue* queue)
      : methods_(methods), queue_(queue), stream_(&context_) {
    ended_.call = this;
    context_.AsyncNotifyWhenDone(&ended_);
    methods_->service_.RequestCall(&context_, &stream_, queue, queue, this);
  }

  void Run(bool ok) override {
    switch (state_) {
      case State::kRequested:
        if (!ok) {
          delete this;
          return;
        }
        new StreamCall(methods_, queue_);
        Begin();
        return;
      case State::kReading:
        if (ok) {
          Answer();
        } else {
          Finish(grpc::Status::OK);
        }
        return;
      case State::kWriting:
        if (is_watch_) {
          // The status does not change while the server serves; the stream ends with the
          // connection.
          state_ = State::kWatching;
          if (is_over_.load()) FinishWatch();
        } else {
          Read();
        }
        return;
      case State::kWatching:
      case State::kFinished:
        Unref();
    }
  }

 private:
  enum class State { kRequested, kReading, kWriting, kWatching, kFinished };
  struct Ended final : Tag {
    StreamCall* call = nullptr;
    void Run(bool) override { call->CallEnded(); }
  };

  void Begin() {
    is_watch_ = context_.method() == "/grpc.health.v1.Health/Watch";
    if (is_watch_ ||
        context_.method() == "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" ||
        context_.method() == "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") {
      Read();
    } else {
      Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
    }
  }
  void Read() {
    state_ = State::kReading;
    stream_.Read(&message_, this);
  }
  void Answer() {
    const std::string request = Flat(message_);
    std::string response;
    if (is_watch_) {
      const StatusOr<std::string> status = methods_->health_->Check(request);
      // A service that nobody knows may come later, says the protocol: SERVICE_UNKNOWN.
      response = status.ok() ? *status : std::string("\x08\x03");
    } else {
      response = Reflect(request);
    }
    state_ = State::kWriting;
    stream_.Write(BufferOf(response), this);
  }
  void Finish(const grpc::Status& status) {
    state_ = State::kFinished;
    stream_.Finish(status, this);
  }
  void CallEnded() {
    is_over_ = true;
    if (state_ == State::kWatching) FinishWatch();
    Unref();
  }
  // The end of the call and the end of the write may come at the same time.
  void FinishWatch() {
    State watching = State::kWatching;
    if (state_.compare_exchange_strong(watching, State::kFinished)) {
      stream_.Finish(grpc::Status::CANCELLED, this);
    }
  }
  void Unref() {
    if (refs_.fetch_sub(1) == 1) delete this;
  }

  StreamMethods* const methods_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer message_;
  Ended ended_;
  std::atomic<State> state_{State::kRequested};
  std::atomic<bool> is_over_{false};
  bool is_watch_ = false;
  std::atomic<int> refs_{2};
};

void StreamMethods::Start(grpc::ServerCompletionQueue* queue) { new StreamCall(this, queue); }

}  // namespace tensorfleet::rpc
