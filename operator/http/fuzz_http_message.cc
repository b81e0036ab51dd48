// libFuzzer target: any bytes as requests or responses off a connection. The first byte says which,
// and in how many pieces they come: what is read of them must not depend on that.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/http/message.h"
#include "runtime/base/check.h"

namespace tensorfleet::http {
namespace {

constexpr size_t kMaxBody = 1 << 20;
// Each piece is a packet; a socket holds some hundred of them before anyone reads, and a reader
// takes so much of one.
constexpr size_t kMaxPieces = 32;
constexpr size_t kMaxPiece = 16 * 1024;
constexpr size_t kMaxInput = 64 * 1024;

// Everything that a reader makes of the bytes, one message after the other.
std::string Outcome(absl::string_view bytes, size_t pieces, MessageKind kind, bool no_body) {
  int ends[2];
  // Packets keep the pieces apart: each read gets one.
  TFLEET_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const size_t piece =
      std::clamp<size_t>((bytes.size() + pieces - 1) / pieces, size_t{1}, kMaxPiece);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const absl::string_view part = bytes.substr(at, piece);
    TFLEET_CHECK(send(ends[0], part.data(), part.size(), MSG_DONTWAIT) ==
                 static_cast<ssize_t>(part.size()));
  }
  close(ends[0]);
  const auto stream = Stream::Accepted(ends[1], nullptr);
  MessageReader reader(stream.get(), kind);
  std::string out;
  while (true) {
    const StatusOr<Head> head = reader.ReadHead(kNoDeadline, no_body);
    if (!head.ok()) return absl::StrCat(out, head.status().ToString());
    absl::StrAppend(&out, head->status, " ", head->method, " ", head->target, " ",
                    head->keep_alive);
    for (const auto& [name, value] : head->headers) absl::StrAppend(&out, "\n", name, ": ", value);
    std::string body;
    const Status read = reader.ReadWholeBody(&body, kMaxBody, kNoDeadline);
    if (!read.ok()) return absl::StrCat(out, "\n", read.ToString());
    absl::StrAppend(&out, "\n", body, "\n");
  }
}

}  // namespace
}  // namespace tensorfleet::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensorfleet::http;
  if (size < 1 || size > kMaxInput) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const MessageKind kind = data[0] & 1 ? MessageKind::kResponse : MessageKind::kRequest;
  const bool no_body = data[0] & 2;
  const size_t pieces = 1 + (data[0] >> 2) % kMaxPieces;
  TFLEET_CHECK(Outcome(bytes, pieces, kind, no_body) == Outcome(bytes, 8, kind, no_body));
  std::string prefix;
  (void)ParseUrl(bytes, &prefix);
  return 0;
}
