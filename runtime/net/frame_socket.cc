#include "runtime/net/frame_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tensorfleet::net {
namespace {

constexpr size_t kHeaderBytes = 16;
// After so much of a tensor it is another one's turn.
constexpr size_t kPieceBytes = 1 << 20;
// Messages grow as their bytes arrive, not as their headers promise.
constexpr size_t kMessageStep = 1 << 20;
constexpr int kMostVectors = 32;

static_assert(sizeof(FrameHeader) == kHeaderBytes && std::endian::native == std::endian::little,
              "headers are sent as they lie in memory");

void AppendHeader(const FrameHeader& header, std::string* out) {
  out->append(reinterpret_cast<const char*>(&header), kHeaderBytes);
}

FrameHeader ParseHeader(const char* bytes) {
  FrameHeader header;
  std::memcpy(&header, bytes, kHeaderBytes);
  return header;
}

}  // namespace

StatusOr<std::shared_ptr<FrameSocket>> FrameSocket::Open(EventLoop* loop, int fd,
                                                         std::shared_ptr<Receiver> receiver) {
  std::shared_ptr<FrameSocket> socket(new FrameSocket(loop, fd, std::move(receiver)));
  MutexLock lock(&socket->mu_);
  TFLEET_ASSIGN_OR_RETURN(socket->registration_, loop->Add(fd, socket));
  return socket;
}

void FrameSocket::StartReading() {
  MutexLock lock(&mu_);
  is_reading_ = false;
  Rearm();
}

FrameSocket::~FrameSocket() { ::close(fd_); }

void FrameSocket::Send(uint32_t kind, uint64_t id, absl::string_view message) {
  SendWithContent(kind, id, message, 0, {});
}

void FrameSocket::SendWithContent(uint32_t kind, uint64_t id, absl::string_view message,
                                  uint32_t content_kind, Tensor tensor) {
  Outgoing out;
  out.id = id;
  out.content_kind = content_kind;
  out.head.reserve(2 * kHeaderBytes + message.size());
  AppendHeader({id, static_cast<uint32_t>(message.size()), kind}, &out.head);
  out.head.append(message.data(), message.size());
  if (tensor.is_valid() && tensor.bytes() > 0) {
    out.content = std::move(tensor);
    BeginPiece(&out);
  }
  Enqueue(std::move(out));
}

void FrameSocket::BeginPiece(Outgoing* out) {
  out->piece = std::min(out->content.bytes() - out->offset, kPieceBytes);
  out->piece_sent = 0;
  AppendHeader({out->id, static_cast<uint32_t>(out->piece), out->content_kind}, &out->head);
}

void FrameSocket::Enqueue(Outgoing out) {
  {
    MutexLock lock(&mu_);
    if (is_closed_) return;
    outgoing_.push_back(std::move(out));
    if (is_writing_) return;
    is_writing_ = true;
  }
  Flush();
}

void FrameSocket::Flush() {
  while (true) {
    std::array<iovec, kMostVectors> vectors;
    int count = 0;
    {
      MutexLock lock(&mu_);
      if (is_closed_ || outgoing_.empty()) {
        is_writing_ = false;
        return;
      }
      // Others may append meanwhile, which leaves these where they are.
      for (Outgoing& out : outgoing_) {
        if (count + 2 > kMostVectors) break;
        if (out.head_sent < out.head.size()) {
          vectors[count++] = {out.head.data() + out.head_sent, out.head.size() - out.head_sent};
        }
        if (!out.content.is_valid()) continue;
        char* const bytes = static_cast<char*>(const_cast<void*>(out.content.raw()));
        vectors[count++] = {bytes + out.offset + out.piece_sent, out.piece - out.piece_sent};
        break;
      }
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    const int error = errno;
    if (sent >= 0) {
      MutexLock lock(&mu_);
      Sent(sent);
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      MutexLock lock(&mu_);
      wants_room_ = true;
      Rearm();
      return;
    } else if (error != EINTR) {
      {
        MutexLock lock(&mu_);
        is_writing_ = false;
      }
      Close(Unavailable("sending: ", std::strerror(error)));
      return;
    }
  }
}

void FrameSocket::Sent(size_t bytes) {
  while (bytes > 0 && !outgoing_.empty()) {  // empty: it was closed meanwhile
    Outgoing& out = outgoing_.front();
    const size_t of_head = std::min(bytes, out.head.size() - out.head_sent);
    out.head_sent += of_head;
    const size_t of_piece = std::min(bytes - of_head, out.piece - out.piece_sent);
    out.piece_sent += of_piece;
    bytes -= of_head + of_piece;
    if (out.head_sent < out.head.size() || out.piece_sent < out.piece) return;
    out.offset += out.piece;
    if (out.content.is_valid() && out.offset < out.content.bytes()) {
      Outgoing rest = std::move(out);
      rest.head.clear();
      rest.head_sent = 0;
      BeginPiece(&rest);
      outgoing_.push_back(std::move(rest));
    }
    outgoing_.pop_front();
  }
}

void FrameSocket::Rearm() {
  if (is_closed_) return;
  const uint32_t events = (is_reading_ ? 0 : EPOLLIN) | (wants_room_ ? EPOLLOUT : 0);
  if (events != 0) loop_->Arm(fd_, registration_, events);
}

void FrameSocket::OnReady(uint32_t events) {
  bool read = false, write = false;
  {
    MutexLock lock(&mu_);
    if (is_closed_) return;
    constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;
    if ((events & (EPOLLOUT | kBroken)) != 0 && wants_room_) {
      wants_room_ = false;
      write = true;
    }
    if ((events & (EPOLLIN | kBroken)) != 0 && !is_reading_) is_reading_ = read = true;
    Rearm();  // for the kind that it was not
  }
  if (write) Flush();
  if (!read) return;
  EventLoop::Work later;
  const Status status = ReadAll(&later);
  {
    MutexLock lock(&mu_);
    is_reading_ = false;
    if (status.ok()) Rearm();
  }
  loop_->RunLater(std::move(later));
  if (!status.ok()) Close(status);
}

// Room for the rest of the present frame, or for some of it.
char* FrameSocket::BodyEnd(size_t* room) {
  const size_t left = header_.size - taken_;
  if (target_.where == FrameTarget::kTensor) {
    *room = left;
    return static_cast<char*>(target_.tensor.mutable_raw()) + target_.offset + taken_;
  }
  if (target_.where == FrameTarget::kNowhere) {
    *room = 0;
    return nullptr;
  }
  *room = std::min(left, kMessageStep);
  message_.resize(taken_ + *room);
  return message_.data() + taken_;
}

Status FrameSocket::ReadAll(EventLoop::Work* later) {
  if (buffer_ == nullptr) buffer_ = std::make_unique<char[]>(kBufferBytes);
  while (true) {
    TFLEET_RETURN_IF_ERROR(TakeBuffered(later));
    // Nothing is left in the buffer but the beginning of a header.
    std::array<iovec, 2> vectors;
    int count = 0;
    size_t room = 0;
    if (in_frame_) {
      char* const body = BodyEnd(&room);
      if (room > 0) vectors[count++] = {body, room};
    }
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    vectors[count++] = {buffer_.get() + end_, kBufferBytes - end_};
    const ssize_t got = ::readv(fd_, vectors.data(), count);
    if (got == 0) return Unavailable("the peer hung up");
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return OkStatus();
      return Unavailable("receiving: ", std::strerror(errno));
    }
    received_.fetch_add(got, std::memory_order_relaxed);
    const size_t of_body = std::min(room, static_cast<size_t>(got));
    taken_ += of_body;
    end_ += got - of_body;
    if (static_cast<size_t>(got) < room + kBufferBytes - (end_ - (got - of_body))) {
      return TakeBuffered(later);  // there was no more
    }
  }
}

Status FrameSocket::TakeBuffered(EventLoop::Work* later) {
  while (true) {
    if (!in_frame_) {
      if (end_ - begin_ < kHeaderBytes) return OkStatus();
      header_ = ParseHeader(buffer_.get() + begin_);
      begin_ += kHeaderBytes;
      TFLEET_ASSIGN_OR_RETURN(target_, receiver_->OnHeader(header_));
      if (target_.where == FrameTarget::kTensor &&
          (target_.offset > target_.tensor.bytes() ||
           header_.size > target_.tensor.bytes() - target_.offset)) {
        return Internal("the peer sent more of a tensor than it has");
      }
      in_frame_ = true;
      taken_ = 0;
      message_.clear();
    }
    while (taken_ < header_.size && begin_ < end_) {
      size_t room = 0;
      char* const body = BodyEnd(&room);
      if (target_.where == FrameTarget::kNowhere) room = header_.size - taken_;
      const size_t size = std::min(room, end_ - begin_);
      if (body != nullptr) std::memcpy(body, buffer_.get() + begin_, size);
      taken_ += size;
      begin_ += size;
    }
    if (taken_ < header_.size) return OkStatus();
    TFLEET_RETURN_IF_ERROR(EndFrame(later));
  }
}

Status FrameSocket::EndFrame(EventLoop::Work* later) {
  in_frame_ = false;
  message_.resize(target_.where == FrameTarget::kMessage ? header_.size : 0);
  target_ = {};
  return receiver_->OnFrame(header_, std::move(message_), later);
}

void FrameSocket::Close(const Status& why) {
  std::deque<Outgoing> dropped;
  {
    MutexLock lock(&mu_);
    if (is_closed_) return;
    is_closed_ = true;
    // A thread that is sending has its eye on the first of them.
    if (!is_writing_ || wants_room_) dropped = std::move(outgoing_);
    loop_->Remove(fd_, registration_);
    ::shutdown(fd_, SHUT_RDWR);  // closed with the last user of this object
  }
  receiver_->OnClosed(why);
}

bool FrameSocket::is_flushed() const {
  MutexLock lock(&mu_);
  return is_closed_ || outgoing_.empty();
}

}  // namespace tensorfleet::net
