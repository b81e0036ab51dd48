#include "runtime/io/remote/curl.h"

#include <dlfcn.h>

#include <type_traits>

namespace tensorfleet {

const Curl& LoadedCurl() {
  static const Curl* const curl = [] {
    auto* out = new Curl();
    void* library = dlopen(kCurlLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      out->status =
          FailedPrecondition("files of other machines need ", kCurlLibrary,
                             ", which cannot be loaded: ", dlerror(), " (Debian: libcurl4)");
      return out;
    }
    const auto find = [&](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      if (*function == nullptr) out->status = FailedPrecondition(kCurlLibrary, " has no ", name);
    };
    find(&out->global_init, "curl_global_init");
    find(&out->easy_init, "curl_easy_init");
    find(&out->easy_setopt, "curl_easy_setopt");
    find(&out->easy_perform, "curl_easy_perform");
    find(&out->easy_getinfo, "curl_easy_getinfo");
    find(&out->easy_reset, "curl_easy_reset");
    find(&out->easy_cleanup, "curl_easy_cleanup");
    find(&out->easy_strerror, "curl_easy_strerror");
    find(&out->slist_append, "curl_slist_append");
    find(&out->slist_free_all, "curl_slist_free_all");
    if (out->status.ok()) out->global_init(CURL_GLOBAL_DEFAULT);
    return out;
  }();
  return *curl;
}

CURL* ThreadCurlHandle(bool is_of_graph) {
  struct Owner {
    CURL* handle = LoadedCurl().easy_init();
    ~Owner() {
      if (handle != nullptr) LoadedCurl().easy_cleanup(handle);
    }
  };
  static thread_local Owner owners[2];
  Owner& owner = owners[is_of_graph ? 1 : 0];
  if (owner.handle != nullptr) LoadedCurl().easy_reset(owner.handle);
  return owner.handle;
}

}  // namespace tensorfleet
