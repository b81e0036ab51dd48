// libFuzzer target: any bytes as a list, in pieces as the first byte says.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/k8s/watch/splitter.h"
#include "runtime/base/check.h"

namespace {

std::string Outcome(absl::string_view text, size_t piece) {
  std::string out;
  tensorfleet::k8s::ListSplitter splitter;
  for (size_t at = 0; at < text.size(); at += piece) {
    const auto fed = splitter.Feed(text.substr(at, piece), [&](absl::string_view item) {
      out.append(item.data(), item.size());
      return tensorfleet::OkStatus();
    });
    if (!fed.ok()) return out + std::string(fed.message());
  }
  const auto envelope = splitter.Envelope();
  return out + (envelope.ok() ? *envelope : std::string(envelope.status().message()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  TFLEET_CHECK(Outcome(text, 1 + data[0] % 64) == Outcome(text, size));
  return 0;
}
