// A stream socket on which both sides send frames: a message, or a piece of a tensor that goes from
// one tensor's buffer straight into the other's. Large tensors are sent in turns, so that what is
// small does not wait for them. Thread-safe.
//
// On the wire a frame is a header of 16 bytes (id, size, kind: 8, 4 and 4 bytes, little-endian) and
// `size` bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/net/event_loop.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::net {

struct FrameHeader {
  uint64_t id = 0;
  uint32_t size = 0;
  uint32_t kind = 0;
};

// Where the bytes of a frame go.
struct FrameTarget {
  enum Where {
    kMessage,  // into a string, which OnFrame gets
    kTensor,   // into `tensor` from `offset` on; the frame must fit
    kNowhere,  // they are dropped
  };
  Where where = kMessage;
  Tensor tensor;
  size_t offset = 0;
};

class FrameSocket final : public EventLoop::Handler,
                          public std::enable_shared_from_this<FrameSocket> {
 public:
  // What its owner makes of frames. Frames come in order, one at a time, on the loop's threads.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // The header is whatever the peer sent. An error closes the socket.
    virtual StatusOr<FrameTarget> OnHeader(const FrameHeader& header) = 0;
    // The frame is whole. What takes long is added to `later`: it runs when the socket is watched
    // again. An error closes the socket.
    virtual Status OnFrame(const FrameHeader& header, std::string message,
                           EventLoop::Work* later) = 0;
    // Last of all, once; OnFrame may be running on another thread.
    virtual void OnClosed(const Status& why) = 0;
  };

  // Takes the connected, or connecting, non-blocking descriptor. Errors: ResourceExhausted.
  static StatusOr<std::shared_ptr<FrameSocket>> Open(EventLoop* loop, int fd,
                                                     std::shared_ptr<Receiver> receiver);
  // The receiver gets nothing before; what is sent before is sent.
  void StartReading();
  ~FrameSocket() override;

  void Send(uint32_t kind, uint64_t id, absl::string_view message);
  // The message, then the bytes of `tensor`, which must be plain data and not be written to any
  // more, as frames of `content_kind`.
  void SendWithContent(uint32_t kind, uint64_t id, absl::string_view message, uint32_t content_kind,
                       Tensor tensor);
  // Hangs up; what is still to be sent is dropped. Only the first call counts.
  void Close(const Status& why);
  // Whether all that was sent has been given to the system.
  bool is_flushed() const;
  // All that has come so far: a sign of life.
  size_t bytes_received() const { return received_.load(std::memory_order_relaxed); }

  void OnReady(uint32_t events) override;

 private:
  struct Outgoing {
    uint64_t id = 0;
    uint32_t content_kind = 0;
    std::string head;  // of the frame, or frames, that go next: headers and messages
    size_t head_sent = 0;
    Tensor content;
    size_t offset = 0;  // in the content, of the piece that goes next
    size_t piece = 0;   // its size
    size_t piece_sent = 0;
  };

  FrameSocket(EventLoop* loop, int fd, std::shared_ptr<Receiver> receiver)
      : loop_(loop), fd_(fd), receiver_(std::move(receiver)) {}
  void Enqueue(Outgoing out);
  static void BeginPiece(Outgoing* out);
  // Sends until the system takes no more. Only the thread that set is_writing_ may call it.
  void Flush();
  void Sent(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Rearm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reads until there is nothing more. Only the thread that set is_reading_ may call them.
  Status ReadAll(EventLoop::Work* later);
  Status TakeBuffered(EventLoop::Work* later);
  Status EndFrame(EventLoop::Work* later);
  char* BodyEnd(size_t* room);

  EventLoop* const loop_;
  const int fd_;
  const std::shared_ptr<Receiver> receiver_;

  mutable Mutex mu_;
  uint64_t registration_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool is_reading_ ABSL_GUARDED_BY(mu_) = true;  // until StartReading
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  bool wants_room_ ABSL_GUARDED_BY(mu_) = false;  // the system took no more: is_writing_ stays
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mu_);

  std::atomic<size_t> received_{0};
  // The reading thread's.
  static constexpr size_t kBufferBytes = 16 << 10;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0, end_ = 0;  // what of the buffer has not been taken
  bool in_frame_ = false;
  FrameHeader header_;
  FrameTarget target_;
  std::string message_;
  size_t taken_ = 0;  // of the frame
};

}  // namespace tensorfleet::net
