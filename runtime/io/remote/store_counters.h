// What was asked of stores of files, by the scheme of the files. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tensorfleet {

struct StoreCounters {
  int64_t requests = 0;  // sent, those tried again included
  int64_t retries = 0;
  int64_t sent_bytes = 0, received_bytes = 0;  // of bodies
};

void CountRequest(const std::string& scheme, size_t sent_bytes, size_t received_bytes,
                  bool is_retry);
// By scheme: "s3", "gs", "hdfs", "http".
std::map<std::string, StoreCounters> CountedRequests();

}  // namespace tensorfleet
