// Where nodes go that nothing ties to a place, under DefaultPlacement::kAuto: to the task that
// their inputs come from, or else to the one that uses them, so that as little as possible crosses
// the network.
#pragma once

#include <vector>

#include "runtime/place/placement/placement_rules.h"

namespace tensorfleet {

// For each group without a device yet, a device of the task that draws it; -1 for groups that have
// one. Rules, in order:
//   - files and prints belong to the task that is asked, and so do placeholders, whose values come
//   from there;
//   - inputs all from one task draw a node there; inputs from several leave it to the task that is
//   asked. Constants, and what is
//     computed from nothing but constants, do not count as inputs: they follow;
//   - what has no input that counts goes to the only task that uses it, or else to the one that is
//   asked;
//   - a loop is drawn as a whole: what crosses it would be sent in every iteration.
// `view` must know the devices of groups that hold state or read references. Linear in nodes and
// edges.
std::vector<int> DrawnByNeighbours(const Graph& graph, const PlacementView& view);

}  // namespace tensorfleet
