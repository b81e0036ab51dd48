// The way to a connected socket: addresses of a name, one after the other, within a deadline.
#pragma once

#include <netdb.h>

#include "operator/http/stream.h"

namespace tensorfleet::http {

// A connected socket that does not block, or why there is none. Cancelling `cancel` (may be null)
// ends the attempt.
StatusOr<int> Dial(const Endpoint& to, Deadline deadline, CancellationManager* cancel);

// Waits until `fd` is ready for `events`; `what` begins the error.
Status PollFor(int fd, short events, absl::string_view what, Deadline deadline);

// What asks for the addresses of names, getaddrinfo unless a test has put another in its place.
using Resolver = int (*)(const char* host, const char* port, const addrinfo* hints,
                         addrinfo** found);
void SetResolverForTesting(Resolver resolver);

}  // namespace tensorfleet::http
