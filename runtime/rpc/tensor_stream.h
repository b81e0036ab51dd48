// Tensors between our own servers, beside gRPC: RecvTensor as frames on a TCP connection
// (runtime/net), so that a tensor's bytes go from the buffer that a kernel wrote into the one that
// a kernel reads. TransferService.OpenStream says where; whoever has no such service, or cannot be
// reached there, is asked by gRPC. Here is what both sides agree on; see tensor_stream_server.h and
// tensor_stream_client.h.
//
//   client                          server
//   Hello, message: the token
//                                   Hello, without a message
//   RecvTensor, message: its request
//                                   Reply, message: RecvTensorResponse  or  Error, message: status
//                                   Content, as often as it takes, if the reply has only a head
//   Cancel, without a message       (and still one of the above, which may be dropped)
//   Ping, without a message         Pong, without a message
//
// A RecvTensor and what belongs to it have the same id, which the client chooses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorfleet {
class ThreadPool;
class TimerQueue;
}  // namespace tensorfleet
namespace tensorfleet::net {
class EventLoop;
}

namespace tensorfleet::rpc {

enum class StreamFrame : uint32_t {
  kHello = 1,
  kRecvTensor = 2,
  kCancel = 3,
  kReply = 4,
  kError = 5,
  kContent = 6,
  kPing = 7,
  kPong = 8,
};

inline constexpr size_t kStreamTokenBytes = 16;
// Requests hold a rendezvous key and little else.
inline constexpr uint32_t kMaxStreamRequestBytes = 1 << 20;

// What a server's streams live on.
struct StreamContext {
  net::EventLoop* loop = nullptr;
  TimerQueue* timers = nullptr;
  ThreadPool* pool = nullptr;
};

}  // namespace tensorfleet::rpc
