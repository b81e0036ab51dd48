// --self-check: whether the cluster takes TFJobs, asked from outside the operator. Nothing is
// stored: the requests are dry runs.
#pragma once

#include "operator/k8s/client.h"

namespace tensorfleet::operator_main {

// Submits a good TFJob to `ns`, which must be taken, and, with `webhook`, one that only the webhook
// refuses, which must be refused with its message. One round of requests; the error says what is
// wrong and where to look. The caller needs the right to create TFJobs in `ns`.
Status SelfCheck(k8s::Client& client, const std::string& ns, bool webhook);

// Repeats SelfCheck until it succeeds or `patience` is over: right after an installation the API
// server learns of the webhook some moments after the operator is ready.
Status SelfCheckWithin(k8s::Client& client, const std::string& ns, bool webhook,
                       std::chrono::seconds patience);

}  // namespace tensorfleet::operator_main
