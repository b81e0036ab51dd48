// A certificate for tests of TLS.
#pragma once

#include <string>

namespace tensorfleet::testing {

struct SelfSigned {
  std::string certificate_pem, key_pem;
};
// Valid for an hour, for the IP address `address`; its own authority.
SelfSigned MakeSelfSigned(const std::string& address);

}  // namespace tensorfleet::testing
