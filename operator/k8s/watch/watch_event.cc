#include "operator/k8s/watch/watch_event.h"

#include <string>

namespace tensorfleet::k8s {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

absl::string_view Trim(absl::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// The size of the JSON value at the beginning of `text`, 0 when it has no end.
size_t ValueSize(absl::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
        if (depth == 0) return i + 1;
      }
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth < 0) return i;
        if (depth == 0) return i + 1;
        break;
      case ',':
        if (depth == 0) return i;
        break;
      default:
        break;
    }
  }
  return 0;
}

StatusOr<WatchEventType> TypeOf(absl::string_view name) {
  if (name == "\"ADDED\"") return WatchEventType::kAdded;
  if (name == "\"MODIFIED\"") return WatchEventType::kModified;
  if (name == "\"DELETED\"") return WatchEventType::kDeleted;
  if (name == "\"BOOKMARK\"") return WatchEventType::kBookmark;
  if (name == "\"ERROR\"") return WatchEventType::kError;
  return InvalidArgument("watch event of unknown type ", name.substr(0, 40));
}

}  // namespace

StatusOr<WatchEvent> SplitWatchEvent(absl::string_view line) {
  absl::string_view rest = Trim(line);
  if (rest.size() < 2 || rest.front() != '{' || rest.back() != '}') {
    return InvalidArgument("watch event is not a JSON object: ", rest.substr(0, 80));
  }
  rest.remove_prefix(1);
  rest.remove_suffix(1);
  absl::string_view type, object;
  for (rest = Trim(rest); !rest.empty(); rest = Trim(rest)) {
    const size_t key_size = ValueSize(rest);
    if (key_size < 2 || rest.front() != '"') return InvalidArgument("watch event: malformed key");
    const absl::string_view key = rest.substr(0, key_size);
    rest = Trim(rest.substr(key_size));
    if (rest.empty() || rest.front() != ':') return InvalidArgument("watch event: expected :");
    rest = Trim(rest.substr(1));
    size_t size = ValueSize(rest);
    // A number or word at the very end has no delimiter behind it.
    if (size == 0 && !rest.empty() && rest.front() != '"' && rest.front() != '{' &&
        rest.front() != '[') {
      size = rest.size();
    }
    if (size == 0) return InvalidArgument("watch event: value without end");
    if (key == "\"type\"") type = Trim(rest.substr(0, size));
    if (key == "\"object\"") object = Trim(rest.substr(0, size));
    rest = Trim(rest.substr(size));
    if (rest.empty()) break;
    if (rest.front() != ',') return InvalidArgument("watch event: expected ,");
    rest.remove_prefix(1);
  }
  if (type.empty()) return InvalidArgument("watch event has no type");
  if (object.empty() || object.front() != '{') return InvalidArgument("watch event has no object");
  TFLEET_ASSIGN_OR_RETURN(const WatchEventType kind, TypeOf(type));
  return WatchEvent{kind, object};
}

}  // namespace tensorfleet::k8s
