// Tensors between our own servers, beside gRPC: RecvTensor as frames on a connection (runtime/net),
// so that a tensor's bytes go from the buffer that a kernel wrote into the one that a kernel reads.
// TransferService.OpenStream says where; whoever has no such service, or cannot be reached there,
// is asked by gRPC. Servers of one machine meet by a local name, the others by TCP. By the name,
// who wants a large tensor may read it in the other's memory (PeerMemory), if the system lets it.
// Here is what both sides agree on; see tensor_stream_server.h and tensor_stream_client.h.
//
//   client                          server
//   Hello, message: the token
//                                   Hello, without a message
//   RecvTensor, message: its request
//                                   Reply, message: RecvTensorResponse  or  Error, message: status
//                                   Content, as often as it takes, if the reply has only a head
//   RecvOrRead, message: its request
//                                   as for RecvTensor  or
//                                   Offer, message: where the tensor's content lies in memory
//                                   (8 bytes, little-endian), and RecvTensorResponse
//   Taken, without a message: what was offered has been read
//   SendIt, without a message: it cannot be read
//                                   as for RecvTensor
//   Cancel, without a message       (and still one of the above, which may be dropped)
//   Ping, without a message         Pong, without a message
//
// A call and what belongs to it have the same id, which the client chooses. What is offered stays
// as it is until the client says Taken, SendIt or Cancel, or is gone.
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
  kRecvOrRead = 9,
  kOffer = 10,
  kTaken = 11,
  kSendIt = 12,
};

inline constexpr size_t kStreamTokenBytes = 16;
inline constexpr size_t kOfferAddressBytes = 8;
// Below this, offering and taking cost more than sending.
inline constexpr size_t kLeastOfferBytes = 32 << 10;
// Requests hold a rendezvous key and little else.
inline constexpr uint32_t kMaxStreamRequestBytes = 1 << 20;

// What a server's streams live on.
struct StreamContext {
  net::EventLoop* loop = nullptr;
  TimerQueue* timers = nullptr;
  ThreadPool* pool = nullptr;
};

}  // namespace tensorfleet::rpc
