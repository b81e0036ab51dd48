// libFuzzer target: any bytes as a watch stream, in pieces as the first byte says. Splitting,
// cutting and taking events apart must neither crash nor hang, and where the pieces are cut must
// not matter.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/k8s/api_error.h"
#include "operator/k8s/watch/field_mask.h"
#include "operator/k8s/watch/splitter.h"
#include "operator/k8s/watch/watch_event.h"
#include "runtime/base/check.h"

namespace {

using tensorfleet::Status;

// Everything that a reflector gets out of `stream`, as text.
std::string Outcome(absl::string_view stream, size_t piece) {
  static const tensorfleet::k8s::FieldMask mask(
      {{"metadata", "name"}, {"metadata", "labels", "a"}, {"status"}});
  std::string out;
  tensorfleet::k8s::LineSplitter splitter;
  for (size_t at = 0; at < stream.size(); at += piece) {
    const Status fed =
        splitter.Feed(stream.substr(at, piece), [&](absl::string_view line) -> Status {
          const auto event = tensorfleet::k8s::SplitWatchEvent(line);
          if (!event.ok()) return event.status();
          if (event->type == tensorfleet::k8s::WatchEventType::kError) {
            return tensorfleet::k8s::ErrorFromStatusObject("watch", event->object);
          }
          std::string cut;
          TFLEET_RETURN_IF_ERROR(mask.Cut(event->object, &cut));
          // What was valid JSON stays so.
          const bool valid = !nlohmann::json::parse(event->object, nullptr, false).is_discarded();
          const bool cut_valid = !nlohmann::json::parse(cut, nullptr, false).is_discarded();
          TFLEET_CHECK(!valid || cut_valid);
          out += cut + "\n";
          return tensorfleet::OkStatus();
        });
    if (!fed.ok()) return out + std::string(fed.message());
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const absl::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
  TFLEET_CHECK(Outcome(stream, 1 + data[0] % 64) == Outcome(stream, size));
  return 0;
}
