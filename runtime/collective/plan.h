// Which member sends which piece to which other one: the same at all members, and the same as in
// TensorFlow's servers. Pure functions of the group and of what is run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/collective/group.h"
#include "runtime/kernels/collectives.h"

namespace tensorfleet::collective {

// One ring through all members: ranks in the order in which pieces travel.
using Ring = std::vector<int>;

// Several rings each carry a part. An offset turns the order within each task; a negative one
// reverses it too.
std::vector<Ring> MakeRings(const Group& group, const std::vector<int>& offsets);
// The offsets to use where the graph says none: one, or with `max_subdivs` other than -1 as many as
// keep pieces below 4 MiB. Errors: InvalidArgument for an empty tensor.
StatusOr<std::vector<int>> ChooseOffsets(const Group& group, int max_subdivs, int64_t bytes);

// Elements of each piece but the last ones, which are shorter or empty, so that pieces begin on
// cache lines.
int64_t AlignedPiece(int64_t element_bytes, int64_t elements, int64_t pieces);

// One part of a broadcast: a binary tree over `members` (ranks in the group).
struct Tree {
  int number = 0;  // in keys
  std::vector<int> members;
  int source = 0;  // these are positions in `members`
  int self = 0;
  int receive_from = -1;  // -1: this is the source
  std::vector<int> send_to;
};
// Those in which `rank` takes part, in order: between tasks, then within its own.
std::vector<Tree> MakeTrees(const Group& group, int source_rank, int rank);

}  // namespace tensorfleet::collective
