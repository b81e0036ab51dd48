#include "runtime/cli/attachment.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tensorfleet::cli {
namespace {

constexpr size_t kLongestMessage = 64 << 10;
// How often the owner is looked for where the kernel cannot tell of its end.
constexpr int kLookPeriodMs = 200;

std::string SystemError() { return absl::StrCat("errno ", errno); }

}  // namespace

StatusOr<std::unique_ptr<Attachment>> Attachment::Open(int fd, pid_t owner) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return InvalidArgument(
        "--attached is for programs that start a server as a part of themselves: standard input "
        "must "
        "be a stream socket to them");
  }
  const int wake = ::eventfd(0, EFD_CLOEXEC);
  if (wake < 0) return absl::UnavailableError(absl::StrCat("eventfd: ", SystemError()));
  // Sees the owner's end although a process that the owner has forked holds the line open.
  const int owner_fd = static_cast<int>(::syscall(SYS_pidfd_open, owner, 0));
  return std::unique_ptr<Attachment>(new Attachment(fd, owner, owner_fd, wake));
}

Attachment::Attachment(int fd, pid_t owner, int owner_fd, int wake_fd)
    : fd_(fd), owner_(owner), owner_fd_(owner_fd), wake_fd_(wake_fd) {}

Attachment::~Attachment() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    if (::write(wake_fd_, &one, sizeof(one)) == sizeof(one)) thread_.join();
  }
  ::close(wake_fd_);
  if (owner_fd_ >= 0) ::close(owner_fd_);
}

void Attachment::Watch(std::function<void()> on_end) {
  thread_ = std::thread([this, on_end = std::move(on_end)] { Loop(on_end); });
}

void Attachment::SayServing(const std::string& target) const {
  Say(absl::StrCat("serving ", target));
}

void Attachment::SayFailed(const Status& why) const {
  Say(absl::StrCat("failed ", why.raw_code(), " ", why.message()));
}

void Attachment::Say(std::string message) const {
  // The zero byte ends it; what is said has none.
  size_t sent = 0;
  while (sent <= message.size()) {
    const ssize_t n = ::send(fd_, message.c_str() + sent, message.size() + 1 - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

bool Attachment::OwnerHasEnded() const { return ::kill(owner_, 0) != 0 && errno == ESRCH; }

void Attachment::Loop(const std::function<void()>& on_end) {
  std::string unread;
  while (true) {
    // A negative descriptor is passed over.
    pollfd events[] = {{fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}, {owner_fd_, POLLIN, 0}};
    const int n = ::poll(events, 3, owner_fd_ < 0 ? kLookPeriodMs : -1);
    if (n < 0 && errno != EINTR) return on_end();
    if (n < 0) continue;
    if (events[1].revents != 0) return;
    if (events[2].revents != 0 || (owner_fd_ < 0 && OwnerHasEnded())) return on_end();
    if (events[0].revents != 0 && !Receive(&unread)) return on_end();
  }
}

bool Attachment::Receive(std::string* unread) const {
  char bytes[4096];
  const ssize_t n = ::recv(fd_, bytes, sizeof(bytes), 0);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  unread->append(bytes, static_cast<size_t>(n));
  for (size_t end; (end = unread->find('\0')) != std::string::npos;) {
    Obey(unread->substr(0, end));
    unread->erase(0, end + 1);
  }
  return unread->size() <= kLongestMessage;
}

void Attachment::Obey(const std::string& message) const {
  constexpr absl::string_view kChdir = "chdir ";
  if (!absl::StartsWith(message, kChdir)) {
    return SayFailed(
        InvalidArgument("'", message, "' is no message of an attached server's owner"));
  }
  const std::string folder = message.substr(kChdir.size());
  if (::chdir(folder.c_str()) != 0) {
    return SayFailed(absl::NotFoundError(absl::StrCat(folder, ": ", SystemError())));
  }
  Say("done");
}

}  // namespace tensorfleet::cli
