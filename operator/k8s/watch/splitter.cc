#include "operator/k8s/watch/splitter.h"

namespace tensorfleet::k8s {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

Status LineSplitter::Feed(absl::string_view data, OnLine on_line) {
  while (!data.empty()) {
    const size_t end = data.find('\n');
    const absl::string_view piece = data.substr(0, end);
    if (line_.size() + piece.size() > kMaxObjectBytes) {
      return ResourceExhausted("watch event larger than ", kMaxObjectBytes, " bytes");
    }
    if (end == absl::string_view::npos) {
      line_.append(piece.data(), piece.size());
      return OkStatus();
    }
    data.remove_prefix(end + 1);
    if (line_.empty()) {
      if (!piece.empty()) TFLEET_RETURN_IF_ERROR(on_line(piece));
      continue;
    }
    line_.append(piece.data(), piece.size());
    const Status status = on_line(line_);
    line_.clear();
    if (line_.capacity() > 256 * 1024) line_.shrink_to_fit();
    TFLEET_RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

Status ListSplitter::Track(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
  } else if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if (c == '}' || c == ']') {
    if (--depth_ < 0) return InvalidArgument("malformed list: bracket closed twice");
  }
  return OkStatus();
}

Status ListSplitter::TakeEnvelope(char c, bool was_string) {
  if (!was_string && in_string_ && depth_ == 1) key_.clear();
  if (was_string && in_string_ && depth_ == 1 && key_.size() < 16) key_ += c;
  if (was_string && !in_string_ && depth_ == 1) items_next_ = key_ == "items";
  if (!was_string && (c == ',' || c == '{')) items_next_ = false;
  if (items_next_ && !was_string && c == '[' && depth_ == 2) {
    envelope_ += "[]";
    items_next_ = false;
    where_ = Where::kItems;
    return OkStatus();
  }
  envelope_ += c;
  if (envelope_.size() > kMaxObjectBytes) {
    return ResourceExhausted("list without its items larger than ", kMaxObjectBytes, " bytes");
  }
  if (depth_ == 0) where_ = Where::kEnd;
  return OkStatus();
}

Status ListSplitter::Feed(absl::string_view data, OnItem on_item) {
  for (const char c : data) {
    const bool was_string = in_string_;
    TFLEET_RETURN_IF_ERROR(Track(c));
    switch (where_) {
      case Where::kStart:
        if (IsSpace(c)) break;
        if (c != '{') return InvalidArgument("malformed list: not an object");
        envelope_ += c;
        where_ = Where::kEnvelope;
        break;
      case Where::kEnvelope:
        TFLEET_RETURN_IF_ERROR(TakeEnvelope(c, was_string));
        break;
      case Where::kItems:
        if (c == '{' && depth_ == 3) {
          item_.assign(1, c);
          where_ = Where::kItem;
        } else if (c == ']' && depth_ == 1) {
          where_ = Where::kEnvelope;
        } else if (c != ',' && !IsSpace(c)) {
          return InvalidArgument("malformed list: an item is not an object");
        }
        break;
      case Where::kItem:
        item_ += c;
        if (item_.size() > kMaxObjectBytes) {
          return ResourceExhausted("list item larger than ", kMaxObjectBytes, " bytes");
        }
        if (depth_ == 2) {
          where_ = Where::kItems;
          TFLEET_RETURN_IF_ERROR(on_item(item_));
        }
        break;
      case Where::kEnd:
        if (!IsSpace(c)) return InvalidArgument("malformed list: text after its end");
        break;
    }
  }
  return OkStatus();
}

StatusOr<std::string> ListSplitter::Envelope() const {
  if (where_ != Where::kEnd) return DataLoss("list ended in the middle");
  return envelope_;
}

}  // namespace tensorfleet::k8s
