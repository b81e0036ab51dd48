// A certificate for tests of TLS.
#pragma once

#include <string>

namespace tensorfleet::testing {

struct SelfSigned {
  std::string certificate_pem, key_pem;
};
// Valid for an hour, for the IP address `address`; its own authority, or that of `issuer`.
SelfSigned MakeSelfSigned(const std::string& address, const SelfSigned* issuer = nullptr);

}  // namespace tensorfleet::testing
