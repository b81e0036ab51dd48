// The functions of libcurl that are used. The library is loaded when they are first asked for, so
// that programs that never leave the local disk do not pay for it.
#pragma once

#include <curl/curl.h>

#include "runtime/base/status.h"

namespace tensorfleet {

inline constexpr char kCurlLibrary[] = "libcurl.so.4";

struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  Status status;  // FailedPrecondition where it cannot be loaded; then the functions are null
};

const Curl& LoadedCurl();

// One of the calling thread's handles with its options reset; it keeps its connections open between
// requests. Those of addresses that graphs name are kept apart from those of the server's own
// stores. Null when there is no memory for one. LoadedCurl().status must be OK.
CURL* ThreadCurlHandle(bool is_of_graph);

}  // namespace tensorfleet
