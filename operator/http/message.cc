#include "operator/http/message.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tensorfleet::http {
namespace {

constexpr size_t kReadSize = 16 * 1024;

bool ParseHex(absl::string_view text, uint64_t* value) {
  if (text.empty() || text.size() > 15) return false;
  *value = 0;
  for (const char c : text) {
    const char lower = absl::ascii_tolower(c);
    if (!absl::ascii_isxdigit(c)) return false;
    *value = *value * 16 + (absl::ascii_isdigit(c) ? c - '0' : lower - 'a' + 10);
  }
  return true;
}

int CountHeader(const Headers& headers, absl::string_view name) {
  return static_cast<int>(std::count_if(headers.begin(), headers.end(),
                                        [&](const auto& header) { return header.first == name; }));
}

// The characters of a method or of a header's name.
bool IsToken(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("!#$%&'*+-.^_`|~", c);
  });
}

// Errors: InvalidArgument for a line that holds what others may take for its end.
StatusOr<absl::string_view> CheckedLine(absl::string_view line) {
  if (absl::StrContains(line, '\r') || absl::StrContains(line, '\0')) {
    return InvalidArgument("malformed line \"", absl::CHexEscape(line.substr(0, 80)),
                           "\": it holds a CR or a NUL");
  }
  return line;
}

// What stands before LF, without its CR. Errors: as CheckedLine, and for a line without CR: some
// take LF alone for the end of a line and some do not.
StatusOr<absl::string_view> WithoutReturn(absl::string_view line) {
  if (!absl::ConsumeSuffix(&line, "\r")) {
    return InvalidArgument("malformed line \"", absl::CHexEscape(line.substr(0, 80)),
                           "\": it does not end with CR LF");
  }
  return CheckedLine(line);
}

}  // namespace

absl::string_view FindHeader(const Headers& headers, absl::string_view name) {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, name)) return value;
  }
  return "";
}

StatusOr<Head> ParseHead(absl::string_view text, MessageKind kind) {
  Head head;
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const auto line_at = [&](size_t i) -> StatusOr<absl::string_view> {
    return i + 1 < lines.size() ? WithoutReturn(lines[i]) : CheckedLine(lines[i]);
  };
  TFLEET_ASSIGN_OR_RETURN(const absl::string_view first, line_at(0));
  absl::string_view version;
  if (kind == MessageKind::kResponse) {
    version = first.substr(0, first.find(' '));
    const absl::string_view rest = first.substr(version.size());
    if (rest.size() < 4 || !absl::SimpleAtoi(rest.substr(1, 3), &head.status) ||
        head.status < 100) {
      return InvalidArgument("malformed status line \"", first.substr(0, 80), "\"");
    }
  } else {
    const std::vector<absl::string_view> words = absl::StrSplit(first, ' ');
    if (words.size() != 3 || !IsToken(words[0]) || !absl::StartsWith(words[1], "/")) {
      return InvalidArgument("malformed request line \"", first.substr(0, 80), "\"");
    }
    head.method = std::string(words[0]);
    head.target = std::string(words[1]);
    version = words[2];
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return InvalidArgument("not HTTP/1.1: \"", first.substr(0, 80), "\"");
  }
  head.keep_alive = version == "HTTP/1.1";
  for (size_t i = 1; i < lines.size(); ++i) {
    TFLEET_ASSIGN_OR_RETURN(const absl::string_view line, line_at(i));
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || !IsToken(line.substr(0, colon))) {
      return InvalidArgument("malformed header line \"", line.substr(0, 80), "\"");
    }
    head.headers.emplace_back(absl::AsciiStrToLower(line.substr(0, colon)),
                              std::string(absl::StripAsciiWhitespace(line.substr(colon + 1))));
  }
  if (version == "HTTP/1.0" && CountHeader(head.headers, "transfer-encoding") > 0) {
    return InvalidArgument("HTTP/1.0 knows no Transfer-Encoding");
  }
  const std::string connection = absl::AsciiStrToLower(FindHeader(head.headers, "connection"));
  if (absl::StrContains(connection, "close")) head.keep_alive = false;
  if (absl::StrContains(connection, "keep-alive")) head.keep_alive = true;
  return head;
}

StatusOr<bool> MessageReader::Fill(Deadline deadline) {
  if (used_ == buffer_.size()) {
    buffer_.clear();
    used_ = 0;
  } else if (used_ > kReadSize) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadSize);
  StatusOr<size_t> got = from_->Read(buffer_.data() + before, kReadSize, deadline);
  buffer_.resize(before + (got.ok() ? *got : 0));
  if (!got.ok()) return got.status();
  if (*got > 0) untouched_ = false;
  return *got > 0;
}

StatusOr<Head> MessageReader::ReadHead(Deadline deadline, bool no_body) {
  untouched_ = rest().empty();
  size_t searched = 0;
  size_t end;
  size_t skip;
  while (true) {
    end = rest().find("\r\n\r\n", searched);
    skip = 4;
    if (end != absl::string_view::npos) break;
    if (rest().size() > kMaxHead)
      return InvalidArgument("HTTP head longer than ", kMaxHead, " bytes");
    searched = rest().size() < 3 ? 0 : rest().size() - 3;
    TFLEET_ASSIGN_OR_RETURN(const bool more, Fill(deadline));
    if (!more) {
      if (untouched_) return OutOfRange("connection closed");
      return Unavailable("connection closed in the middle of an HTTP head");
    }
  }
  TFLEET_ASSIGN_OR_RETURN(Head head, ParseHead(rest().substr(0, end), kind_));
  used_ += end + skip;
  const absl::string_view encoding = FindHeader(head.headers, "transfer-encoding");
  const absl::string_view length = FindHeader(head.headers, "content-length");
  framing_ = Framing::kNone;
  left_ = 0;
  if (no_body || (kind_ == MessageKind::kResponse &&
                  (head.status < 200 || head.status == 204 || head.status == 304))) {
    return head;
  }
  // Two answers to where a message ends would let its sender hide another one in it, from whoever
  // reads it the other way.
  const int encodings = CountHeader(head.headers, "transfer-encoding");
  const int lengths = CountHeader(head.headers, "content-length");
  if (encodings > 0 && lengths > 0) {
    return InvalidArgument(
        "both Transfer-Encoding and Content-Length: where the body ends is unclear");
  }
  if (encodings > 1) return InvalidArgument("Transfer-Encoding comes ", encodings, " times");
  if (lengths > 1) return InvalidArgument("Content-Length comes ", lengths, " times");
  if (encodings > 0) {
    if (!absl::EqualsIgnoreCase(encoding, "chunked")) {
      return InvalidArgument("transfer encoding \"", encoding, "\" is not supported");
    }
    framing_ = Framing::kChunkHead;
  } else if (lengths > 0) {
    if (!std::all_of(length.begin(), length.end(), absl::ascii_isdigit) ||
        !absl::SimpleAtoi(length, &left_))
      return InvalidArgument("bad content length \"", length, "\"");
    framing_ = left_ == 0 ? Framing::kNone : Framing::kLength;
  } else if (kind_ == MessageKind::kResponse) {
    framing_ = Framing::kUntilClose;
    head.keep_alive = false;
  }
  return head;
}

StatusOr<std::string> MessageReader::ReadLine(Deadline deadline) {
  while (true) {
    const size_t end = rest().find('\n');
    if (end != absl::string_view::npos) {
      TFLEET_ASSIGN_OR_RETURN(const absl::string_view line, WithoutReturn(rest().substr(0, end)));
      used_ += end + 1;
      return std::string(line);
    }
    if (rest().size() > kMaxHead)
      return InvalidArgument("chunk head longer than ", kMaxHead, " bytes");
    TFLEET_ASSIGN_OR_RETURN(const bool more, Fill(deadline));
    if (!more) return Unavailable("connection closed in the middle of a chunked body");
  }
}

Status MessageReader::ReadBody(std::string* out, bool* done, Deadline deadline) {
  *done = false;
  while (true) {
    switch (framing_) {
      case Framing::kNone:
        *done = true;
        return OkStatus();
      case Framing::kChunkHead: {
        TFLEET_ASSIGN_OR_RETURN(const std::string line, ReadLine(deadline));
        const absl::string_view size =
            absl::StripTrailingAsciiWhitespace(absl::string_view(line).substr(0, line.find(';')));
        if (!ParseHex(size, &left_)) return InvalidArgument("malformed chunk size \"", size, "\"");
        framing_ = left_ == 0 ? Framing::kTrailer : Framing::kChunkData;
        break;
      }
      case Framing::kChunkEnd: {
        TFLEET_ASSIGN_OR_RETURN(const std::string line, ReadLine(deadline));
        if (!line.empty()) return InvalidArgument("chunk is longer than its size says");
        framing_ = Framing::kChunkHead;
        break;
      }
      case Framing::kTrailer: {
        TFLEET_ASSIGN_OR_RETURN(const std::string line, ReadLine(deadline));
        if (line.empty()) framing_ = Framing::kNone;
        break;
      }
      case Framing::kLength:
      case Framing::kChunkData:
      case Framing::kUntilClose: {
        if (rest().empty()) {
          TFLEET_ASSIGN_OR_RETURN(const bool more, Fill(deadline));
          if (!more) {
            if (framing_ != Framing::kUntilClose) {
              return Unavailable("connection closed in the middle of a body");
            }
            framing_ = Framing::kNone;
            break;
          }
        }
        absl::string_view piece = rest();
        if (framing_ != Framing::kUntilClose) {
          piece = piece.substr(0, std::min<uint64_t>(left_, piece.size()));
          left_ -= piece.size();
        }
        out->append(piece.data(), piece.size());
        used_ += piece.size();
        if (framing_ != Framing::kUntilClose && left_ == 0) {
          framing_ = framing_ == Framing::kLength ? Framing::kNone : Framing::kChunkEnd;
        }
        return OkStatus();
      }
    }
  }
}

Status MessageReader::ReadWholeBody(std::string* out, size_t limit, Deadline deadline) {
  bool done = false;
  while (!done) {
    TFLEET_RETURN_IF_ERROR(ReadBody(out, &done, deadline));
    if (out->size() > limit) return ResourceExhausted("body is larger than ", limit, " bytes");
  }
  return OkStatus();
}

absl::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    default:
      return status < 400 ? "OK" : "Internal Server Error";
  }
}

}  // namespace tensorfleet::http
