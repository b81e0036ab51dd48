#include "runtime/net/peer_memory.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tensorfleet::net {

std::unique_ptr<PeerMemory> PeerMemory::Of(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  // 0: a process outside this one's PID namespace.
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) {
    return nullptr;
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0));
  if (pidfd < 0) return nullptr;  // before Linux 5.3
  return std::unique_ptr<PeerMemory>(new PeerMemory(peer.pid, pidfd));
}

PeerMemory::~PeerMemory() { ::close(pidfd_); }

bool PeerMemory::Read(uint64_t address, size_t size, void* to) const {
  size_t done = 0;
  while (done < size) {  // 2 GiB at a time
    const iovec here = {static_cast<char*>(to) + done, size - done};
    const iovec there = {reinterpret_cast<void*>(address + done), size - done};
    const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    done += got;
  }
  pollfd ended = {pidfd_, POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

}  // namespace tensorfleet::net
