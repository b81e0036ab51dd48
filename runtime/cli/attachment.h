// The line between a server and the process that it is a part of (`tensorfleet server --attached`):
// a Python process that asked for a server inside itself, as TensorFlow's are. The server says
// whether it serves, follows its owner's working directory, and ends when its owner does.
//
// The line is a stream socket, the server's standard input. Messages in both directions are a word,
// a space, text, and a zero byte:
//   to the owner    serving grpc://localhost:2222  |  failed CODE WHY  (absl's number of the code)
//   to the server   chdir /the/folder, which is answered by `done` or `failed CODE WHY`
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/base/status.h"

namespace tensorfleet::cli {

// Thread-safe after construction.
class Attachment {
 public:
  // `fd` stays the caller's and must be open until this object is gone. `owner` is the process
  // whose end counts besides the line's. Errors: InvalidArgument when `fd` is no stream socket.
  static StatusOr<std::unique_ptr<Attachment>> Open(int fd, pid_t owner);
  // Ends the watching.
  ~Attachment();

  // Obeys what comes on the line from now on, in a thread of its own. `on_end` is called there
  // once: when the owner has ended, has hung up (also by replacing its program), or says what is no
  // message.
  void Watch(std::function<void()> on_end);

  // An owner that no longer listens is noticed by the watcher.
  void SayServing(const std::string& target) const;
  void SayFailed(const Status& why) const;

 private:
  Attachment(int fd, pid_t owner, int owner_fd, int wake_fd);
  void Say(std::string message) const;
  bool OwnerHasEnded() const;
  void Loop(const std::function<void()>& on_end);
  // False: the line has ended.
  bool Receive(std::string* unread) const;
  void Obey(const std::string& message) const;

  const int fd_;
  const pid_t owner_;
  const int
      owner_fd_;  // becomes readable when the owner ends; -1: the kernel has none, so look often
  const int wake_fd_;
  std::thread thread_;
};

}  // namespace tensorfleet::cli
