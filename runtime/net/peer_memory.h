// The memory of the process at the other end of a local socket (sockets.h), read without its help:
// one copy, where a socket costs two and a wake-up for each of its buffers' fill. Needs what a
// debugger needs, that is, the same user and a kernel that allows it (Yama's ptrace_scope 0).
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tensorfleet::net {

class PeerMemory {
 public:
  // Null when the other end is no local process, or none that this one can see. That the kernel
  // forbids to read shows at the first Read. `socket` must be connected, and what is read counts
  // only once the peer has been heard of after this call: then it is the process that listened.
  static std::unique_ptr<PeerMemory> Of(int socket);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // Copies `size` bytes at `address` there. False when that cannot be, or the process has ended
  // meanwhile: then what is in `to` is worth nothing. A hostile peer can have any bytes read, but
  // only its own.
  bool Read(uint64_t address, size_t size, void* to) const;

 private:
  PeerMemory(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}

  const pid_t pid_;
  const int pidfd_;  // readable when the process has ended, and perhaps another has its number
};

}  // namespace tensorfleet::net
