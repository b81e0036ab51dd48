// Cutting JSON down to the fields that are used, without building a document of the rest. An API
// server sends several kilobytes for a pod of which the rules look at a few hundred bytes.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::k8s {

// A set of paths to keep. Arrays are passed through: a path goes on inside each of their elements.
class FieldMask {
 public:
  using Path = std::initializer_list<absl::string_view>;
  FieldMask(std::initializer_list<Path> paths);

  // Appends to `out` the JSON text `in` (one value, untrusted) with nothing but the kept paths.
  // What is kept is copied as it stands; what is dropped is only checked for balanced brackets and
  // strings.
  Status Cut(absl::string_view in, std::string* out) const;

 private:
  friend class Cutter;
  struct Node {
    bool keep = false;  // with all that is below
    std::map<std::string, Node, std::less<>> children;
  };
  Node root_;
};

}  // namespace tensorfleet::k8s
