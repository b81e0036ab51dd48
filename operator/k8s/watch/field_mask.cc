#include "operator/k8s/watch/field_mask.h"

namespace tensorfleet::k8s {

namespace {
constexpr int kMaxDepth = 500;
}  // namespace

// A cursor over the text. Every function leaves it behind what it has read.
class Cutter {
 public:
  using Node = FieldMask::Node;

  Cutter(absl::string_view in, std::string* out) : in_(in), out_(out) {}

  Status Run(const Node& root) {
    TFLEET_RETURN_IF_ERROR(Value(root, 0));
    Space();
    return at_ == in_.size() ? OkStatus() : Malformed("text after the value");
  }

 private:
  Status Malformed(absl::string_view why) const {
    return InvalidArgument("malformed JSON at byte ", at_, ": ", why);
  }
  char Peek() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  void Space() {
    while (at_ < in_.size() &&
           (in_[at_] == ' ' || in_[at_] == '\n' || in_[at_] == '\r' || in_[at_] == '\t')) {
      ++at_;
    }
  }

  Status SkipString() {
    ++at_;
    while (true) {
      const size_t next = in_.find_first_of("\"\\", at_);
      if (next == absl::string_view::npos || next + 1 > in_.size()) {
        at_ = in_.size();
        return Malformed("string without end");
      }
      at_ = next + 1;
      if (in_[next] == '"') return OkStatus();
      ++at_;  // the escaped character
    }
  }

  // Passes over one value of any kind.
  Status Skip() {
    Space();
    int depth = 0;
    do {
      switch (Peek()) {
        case '"':
          TFLEET_RETURN_IF_ERROR(SkipString());
          break;
        case '{':
        case '[':
          if (++depth > kMaxDepth) return Malformed("nested too deeply");
          ++at_;
          break;
        case '}':
        case ']':
          if (depth == 0) return Malformed("bracket closed twice");
          --depth;
          ++at_;
          break;
        case '\0':
          return Malformed("value without end");
        default: {
          const size_t begin = at_;
          while (at_ < in_.size() && !IsDelimiter(in_[at_])) ++at_;
          // Commas and colons are passed over inside brackets only.
          if (at_ == begin) {
            if (depth == 0) return Malformed("expected a value");
            ++at_;
          }
        }
      }
      if (depth > 0) Space();
    } while (depth > 0);
    return OkStatus();
  }

  static bool IsDelimiter(char c) {
    return c == ',' || c == ':' || c == '}' || c == ']' || c == '{' || c == '[' || c == '"' ||
           c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }

  Status Copy() {
    Space();
    const size_t begin = at_;
    TFLEET_RETURN_IF_ERROR(Skip());
    out_->append(in_.data() + begin, at_ - begin);
    return OkStatus();
  }

  Status Value(const Node& node, int depth) {
    if (node.keep) return Copy();
    if (depth > kMaxDepth) return Malformed("nested too deeply");
    Space();
    if (Peek() == '{') return Object(node, depth);
    if (Peek() == '[') return Array(node, depth);
    // A scalar where the mask expects more below: kept, so that the reader sees the wrong type.
    return Copy();
  }

  Status Object(const Node& node, int depth) {
    ++at_;
    *out_ += '{';
    bool first_in = true, first_out = true;
    while (true) {
      Space();
      if (Peek() == '}') {
        if (!first_in) return Malformed("comma before }");
        break;
      }
      if (Peek() != '"') return Malformed("expected a key");
      const size_t begin = at_;
      TFLEET_RETURN_IF_ERROR(SkipString());
      const absl::string_view key = in_.substr(begin, at_ - begin);
      Space();
      if (Peek() != ':') return Malformed("expected :");
      ++at_;
      // Keys of Kubernetes' fields need no escapes; one written with them is not found and dropped.
      const auto child = node.children.find(key.substr(1, key.size() - 2));
      if (child == node.children.end()) {
        TFLEET_RETURN_IF_ERROR(Skip());
      } else {
        if (!first_out) *out_ += ',';
        first_out = false;
        absl::StrAppend(out_, key, ":");
        TFLEET_RETURN_IF_ERROR(Value(child->second, depth + 1));
      }
      first_in = false;
      Space();
      if (Peek() == '}') break;
      if (Peek() != ',') return Malformed("expected , or }");
      ++at_;
    }
    ++at_;
    *out_ += '}';
    return OkStatus();
  }

  Status Array(const Node& node, int depth) {
    ++at_;
    *out_ += '[';
    Space();
    if (Peek() == ']') {
      ++at_;
      *out_ += ']';
      return OkStatus();
    }
    while (true) {
      TFLEET_RETURN_IF_ERROR(Value(node, depth + 1));
      Space();
      const char c = Peek();
      if (c != ',' && c != ']') return Malformed("expected , or ]");
      ++at_;
      *out_ += c;
      if (c == ']') return OkStatus();
    }
  }

  const absl::string_view in_;
  std::string* const out_;
  size_t at_ = 0;
};

FieldMask::FieldMask(std::initializer_list<Path> paths) {
  for (const Path& path : paths) {
    Node* node = &root_;
    for (const absl::string_view name : path) node = &node->children[std::string(name)];
    node->keep = true;
  }
}

Status FieldMask::Cut(absl::string_view in, std::string* out) const {
  return Cutter(in, out).Run(root_);
}

}  // namespace tensorfleet::k8s
