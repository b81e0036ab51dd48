// Making the certificates of the webhook: an authority of our own and a server certificate signed
// by it.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/status.h"

namespace tensorfleet::operator_main {

struct CertificateSet {
  std::string ca_certificate, ca_key;  // PEM
  std::string server_certificate, server_key;
};

inline constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 365 * 10);
inline constexpr absl::Duration kServerLife = absl::Hours(24 * 365);
inline constexpr absl::Duration kRenewAhead = absl::Hours(24 * 90);

// A new authority and a server certificate for `names` (host names and IP addresses; the first is
// the common name). Valid from an hour before `now`.
StatusOr<CertificateSet> MakeCertificates(const std::vector<std::string>& names, absl::Time now);
// A new server certificate by the authority in `set`.
Status RenewServer(const std::vector<std::string>& names, absl::Time now, CertificateSet* set);

// What has to be done about `set` at `now`: nothing is wrong when both certificates are good for
// another kRenewAhead, belong together and to their keys, and the server's is for all of `names`.
enum class Renewal { kNone, kServer, kAll };
Renewal NeededRenewal(const CertificateSet& set, const std::vector<std::string>& names,
                      absl::Time now);

// The end of the first certificate in `pem`.
StatusOr<absl::Time> NotAfter(const std::string& pem);

}  // namespace tensorfleet::operator_main
