// The parts of a serialized Example (proto/example.proto), read in place.
#pragma once

#include <cstring>

#include "runtime/base/status.h"
#include "runtime/kernels/cpu/parsing/wire_reader.h"
#include "runtime/tensor/dtype.h"

namespace tensorfleet::cpu {

// What a serialized Feature holds: a list of strings, floats or int64s, or nothing (kInvalid).
struct FeatureView {
  DType type = DType::kInvalid;
  absl::string_view list;  // the length of the list's message, and the message
};
// Errors: InvalidArgument when it begins with anything but one of the three lists.
StatusOr<FeatureView> ViewFeature(absl::string_view feature);

// One entry of the map of features.
bool ReadFeatureEntry(WireReader* reader, absl::string_view* key, absl::string_view* feature);

// Calls visit(key, serialized value) for each entry of the map inside field `field` of a message:
// the features of an Example (1), the context (1) or the lists (2) of a SequenceExample. Several
// messages one after the other count as one. Other fields are skipped; `beside` (0: none) is one
// that somebody else reads. False when malformed.
template <typename Visit>
bool VisitEntries(absl::string_view message, uint32_t field, uint32_t beside, const Visit& visit) {
  WireReader reader(message);
  while (!reader.AtEnd()) {
    WireReader features;
    if (beside != 0 && reader.Accept(WireTag(beside, kBytesWire))) {
      if (!reader.ReadMessage(&features)) return false;
      continue;
    }
    if (!reader.Accept(WireTag(field, kBytesWire))) {
      uint64_t tag = 0;
      if (!reader.ReadVarint(&tag) || !reader.Skip(tag)) return false;
      continue;
    }
    if (!reader.ReadMessage(&features)) return false;
    while (!features.AtEnd()) {
      absl::string_view key, feature;
      if (!features.Accept(WireTag(1, kBytesWire)) || !ReadFeatureEntry(&features, &key, &feature))
        return false;
      visit(key, feature);
    }
  }
  return true;
}

// Calls visit(serialized feature) for each step of a serialized FeatureList. False when malformed:
// a step that is longer than its list is refused here, where TensorFlow reads on behind what it
// finds.
template <typename Visit>
bool VisitSteps(absl::string_view list, const Visit& visit) {
  WireReader reader(list);
  while (!reader.AtEnd()) {
    absl::string_view feature;
    if (!reader.Accept(WireTag(1, kBytesWire)) || !reader.ReadBytes(&feature)) return false;
    visit(feature);
  }
  return true;
}

// Calls take(number) for each int64 of the list. False when malformed.
template <typename Take>
bool ReadInt64List(absl::string_view list, const Take& take) {
  WireReader outer(list), reader;
  if (!outer.ReadMessage(&reader)) return false;
  if (reader.AtEnd()) return true;
  uint64_t value = 0;
  if (reader.Accept(WireTag(1, kBytesWire))) {
    WireReader packed;
    if (!reader.ReadMessage(&packed)) return false;
    while (!packed.AtEnd()) {
      if (!packed.ReadVarint(&value)) return false;
      take(static_cast<int64_t>(value));
    }
    return true;
  }
  while (!reader.AtEnd()) {
    if (!reader.Accept(WireTag(1, kVarintWire)) || !reader.ReadVarint(&value)) return false;
    take(static_cast<int64_t>(value));
  }
  return true;
}

// Calls take(bytes) with the little-endian bytes of one or more floats at a time.
template <typename Take>
bool ReadFloatList(absl::string_view list, const Take& take) {
  WireReader outer(list), reader;
  if (!outer.ReadMessage(&reader)) return false;
  if (reader.AtEnd()) return true;
  absl::string_view bytes;
  if (reader.Accept(WireTag(1, kBytesWire))) {
    if (!reader.ReadBytes(&bytes) || bytes.size() % sizeof(float) != 0) return false;
    take(bytes);
    return true;
  }
  while (!reader.AtEnd()) {
    if (!reader.Accept(WireTag(1, kFixed32Wire)) || !reader.ReadFixed(sizeof(float), &bytes))
      return false;
    take(bytes);
  }
  return true;
}

// Calls take(text) for each string.
template <typename Take>
bool ReadBytesList(absl::string_view list, const Take& take) {
  WireReader outer(list), reader;
  if (!outer.ReadMessage(&reader)) return false;
  while (!reader.AtEnd()) {
    absl::string_view text;
    if (!reader.Accept(WireTag(1, kBytesWire)) || !reader.ReadBytes(&text)) return false;
    take(text);
  }
  return true;
}

}  // namespace tensorfleet::cpu
