// Whose requests to Google Cloud Storage are, found as Google's own libraries find it: a file of
// credentials, or the identity that the cluster lends to the pod (workload identity) or the cloud
// to the machine, by the metadata service.
#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/io/remote/expiring.h"

namespace tensorfleet {

struct GsIdentity {
  // GOOGLE_APPLICATION_CREDENTIALS: a service account's key, an authorized user's, or an external
  // account whose token lies in a file or at an address (workload identity federation).
  std::string file;
  // GCE_METADATA_HOST, else metadata.google.internal; "" is never asked.
  std::string metadata_url;
};

// Thread-safe; asks again before a token ends.
class GsTokenSource {
 public:
  explicit GsTokenSource(GsIdentity identity) : identity_(std::move(identity)) {}
  // An access token; "" where there is no file and no metadata service: requests are anonymous
  // then. Errors name who was asked.
  StatusOr<std::string> Get();

 private:
  const GsIdentity identity_;
  Expiring<std::string> lent_;
};

}  // namespace tensorfleet
