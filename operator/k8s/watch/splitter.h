// Cutting the two answers that have no useful size limit, lists and watches, into objects while
// they arrive. The bytes are untrusted. Not thread-safe.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

inline constexpr size_t kMaxObjectBytes = 16 << 20;

// A watch: one JSON value a line.
class LineSplitter {
 public:
  using OnLine = absl::FunctionRef<Status(absl::string_view line)>;

  // Calls `on_line` for each line that `data` completes; stops at its first error.
  Status Feed(absl::string_view data, OnLine on_line);
  // True when bytes of an unfinished line are held.
  bool has_rest() const { return !line_.empty(); }

 private:
  std::string line_;
};

// A list: an object with `items`. Each item is given out by itself, and what is beside the items
// (the list's metadata) is kept. Only brackets and strings are looked at; the parts are parsed by
// who gets them.
class ListSplitter {
 public:
  using OnItem = absl::FunctionRef<Status(absl::string_view item)>;

  Status Feed(absl::string_view data, OnItem on_item);
  // The list without its items, as JSON; an error when the text has not come to its end.
  StatusOr<std::string> Envelope() const;

 private:
  enum class Where { kStart, kEnvelope, kItems, kItem, kEnd };

  // Strings and brackets.
  Status Track(char c);
  // A character beside the items; `was_string`: of a string, or its end.
  Status TakeEnvelope(char c, bool was_string);

  Where where_ = Where::kStart;
  int depth_ = 0;  // brackets open, counted from the outermost
  bool in_string_ = false;
  bool escaped_ = false;
  bool items_next_ = false;  // the last string at depth 1 was "items"
  std::string key_;          // the string being read at depth 1
  std::string envelope_;
  std::string item_;
};

}  // namespace tensorfleet::k8s
