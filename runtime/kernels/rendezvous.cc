#include "runtime/kernels/rendezvous.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tensorfleet {
namespace {

bool ParseHex(absl::string_view text, uint64_t* out) {
  return !text.empty() && text.size() <= 16 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == absl::string_view::npos &&
         absl::SimpleHexAtoi(text, out);
}

bool ParseDecimal(absl::string_view text, uint64_t* out) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, out);
}

bool ParseFrame(absl::string_view text, uint64_t* frame, uint64_t* iteration) {
  const size_t colon = text.find(':');
  return colon != absl::string_view::npos && ParseDecimal(text.substr(0, colon), frame) &&
         ParseDecimal(text.substr(colon + 1), iteration);
}

}  // namespace

StatusOr<RendezvousKey> RendezvousKey::Parse(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';');
  RendezvousKey key;
  if (parts.size() != 5 || parts[0].empty() || parts[2].empty() || parts[3].empty() ||
      !ParseHex(parts[1], &key.src_incarnation) ||
      !ParseFrame(parts[4], &key.frame, &key.iteration)) {
    return InvalidArgument("Invalid  rendezvous key: ", text);
  }
  key.text = std::string(text);
  key.src_device = std::string(parts[0]);
  key.dst_device = std::string(parts[2]);
  key.tensor_name = std::string(parts[3]);
  return key;
}

std::string MakeRendezvousKey(absl::string_view src_device, uint64_t src_incarnation,
                              absl::string_view dst_device, absl::string_view tensor_name,
                              uint64_t frame, uint64_t iteration) {
  return absl::StrCat(src_device, ";", absl::Hex(src_incarnation, absl::kZeroPad16), ";",
                      dst_device, ";", tensor_name, ";", frame, ":", iteration);
}

}  // namespace tensorfleet
