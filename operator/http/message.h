// HTTP/1.1 messages as they come off a Stream: head, then body in pieces (by length, chunked or
// until the end). Not thread-safe. The peer is not trusted: heads are limited, framing is checked.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "operator/http/stream.h"

namespace tensorfleet::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value of header `name` (any case), or "" when it is absent.
absl::string_view FindHeader(const Headers& headers, absl::string_view name);

struct Head {
  // Of a response.
  int status = 0;
  // Of a request.
  std::string method;
  std::string target;
  // Names in lower case.
  Headers headers;
  bool keep_alive = true;
};

enum class MessageKind { kRequest, kResponse };

// Parses everything up to, not including, the CR LF in front of the empty line.
StatusOr<Head> ParseHead(absl::string_view text, MessageKind kind);

class MessageReader {
 public:
  MessageReader(Stream* from, MessageKind kind) : from_(from), kind_(kind) {}

  // Reads the next head. kOutOfRange when the stream ended cleanly before its first byte.
  // `no_body`: the response belongs to a request (HEAD) that gets none.
  StatusOr<Head> ReadHead(Deadline deadline, bool no_body = false);

  // Appends what comes next of the body to `out`: at least a byte, or none and `*done` at its end.
  Status ReadBody(std::string* out, bool* done, Deadline deadline);
  // Reads to the end of the body. Fails once it exceeds `limit` bytes.
  Status ReadWholeBody(std::string* out, size_t limit, Deadline deadline);

  // True when no byte of the current message has been received.
  bool untouched() const { return untouched_; }
  // True when the connection can carry another message: body read to its end by known framing.
  bool reusable() const { return framing_ == Framing::kNone && buffer_.size() == used_; }

 private:
  enum class Framing { kNone, kLength, kChunkHead, kChunkData, kChunkEnd, kTrailer, kUntilClose };
  static constexpr size_t kMaxHead = 64 * 1024;

  absl::string_view rest() const { return absl::string_view(buffer_).substr(used_); }
  // Adds bytes to the buffer; false at the end of the stream.
  StatusOr<bool> Fill(Deadline deadline);
  // Takes a line without its end; the line ends within kMaxHead bytes.
  StatusOr<std::string> ReadLine(Deadline deadline);

  Stream* const from_;
  const MessageKind kind_;
  std::string buffer_;
  size_t used_ = 0;
  bool untouched_ = true;
  Framing framing_ = Framing::kNone;
  uint64_t left_ = 0;  // bytes of the body or chunk still to come
};

// "HTTP/1.1 200 OK" and the like for what a server sends.
absl::string_view ReasonPhrase(int status);

}  // namespace tensorfleet::http
