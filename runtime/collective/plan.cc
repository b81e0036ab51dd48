#include "runtime/collective/plan.h"

#include <algorithm>
#include <cstdlib>

namespace tensorfleet::collective {
namespace {

constexpr int64_t kAlignment = 64;  // what TensorFlow is built with
constexpr int64_t kLargePiece = 4 << 20;
constexpr int kDefaultRingsPerDevice = 2;

// The source counts as if it stood before position 0, and keeps its own position too.
void Connect(bool is_source_of_all, Tree* tree) {
  const int size = static_cast<int>(tree->members.size());
  const int self = tree->self;
  if (self != tree->source) {
    const int before = tree->source == 0 ? (self - 1) / 2 : self / 2 - 1;
    tree->receive_from = before < 0 ? tree->source : before;
  }
  if (is_source_of_all && tree->source != 0) {
    if (size > 1) tree->send_to.push_back(0);
    if (size > 2 && tree->source != 1) tree->send_to.push_back(1);
  }
  const int first = tree->source == 0 ? 2 * self + 1 : 2 * (self + 1);
  for (int next = first; next < first + 2; ++next) {
    if (next < size && next != tree->source) tree->send_to.push_back(next);
  }
}

}  // namespace

std::vector<Ring> MakeRings(const Group& group, const std::vector<int>& offsets) {
  std::vector<Ring> rings;
  for (const int offset : offsets) {
    Ring ring;
    int first = 0;
    for (const int size : group.task_sizes) {
      for (int i = 0; i < size; ++i) {
        const int turned = static_cast<int>((i + std::abs(static_cast<int64_t>(offset))) % size);
        ring.push_back(first + (offset < 0 ? size - 1 - turned : turned));
      }
      first += size;
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

StatusOr<std::vector<int>> ChooseOffsets(const Group& group, int max_subdivs, int64_t bytes) {
  if (max_subdivs == -1) return std::vector<int>{0};
  if (bytes == 0) return InvalidArgument("shape in CollectiveParams should be non-empty");
  const int per_task = group.size() / static_cast<int>(group.task_sizes.size());
  const int most = (max_subdivs > 0 ? max_subdivs : kDefaultRingsPerDevice) * per_task;
  int count = 0;
  do {
    ++count;
  } while (bytes / (static_cast<int64_t>(group.size()) * count) > kLargePiece && count < most);
  const int stride = std::max(1, per_task / count);
  std::vector<int> offsets;
  for (int i = 0; i < count; ++i) offsets.push_back(i % 2 == 1 ? -stride * i : stride * i);
  return offsets;
}

int64_t AlignedPiece(int64_t element_bytes, int64_t elements, int64_t pieces) {
  const int64_t piece = (elements + pieces - 1) / pieces;
  if (element_bytes >= kAlignment) return piece;
  // TensorFlow adds a whole line where a piece ends on one already.
  return (piece * element_bytes / kAlignment + 1) * kAlignment / element_bytes;
}

std::vector<Tree> MakeTrees(const Group& group, int source_rank, int rank) {
  std::vector<Tree> trees;
  const bool has_many = group.task_sizes.size() > 1;
  if (has_many) {
    Tree between;
    between.self = -1;
    int first = 0;
    for (size_t i = 0; i < group.task_sizes.size(); ++i) {
      const int end = first + group.task_sizes[i];
      const bool has_source = source_rank >= first && source_rank < end;
      if (has_source) between.source = static_cast<int>(i);
      between.members.push_back(has_source ? source_rank : first);
      if (between.members.back() == rank) between.self = static_cast<int>(i);
      first = end;
    }
    if (between.self >= 0) trees.push_back(std::move(between));
  }
  int first = 0;
  for (size_t i = 0; i < group.task_sizes.size(); ++i) {
    const int end = first + group.task_sizes[i];
    if (rank >= first && rank < end) {
      Tree within;
      within.number = static_cast<int>(i) + (has_many ? 1 : 0);
      for (int member = first; member < end; ++member) within.members.push_back(member);
      within.self = rank - first;
      if (source_rank >= first && source_rank < end) within.source = source_rank - first;
      trees.push_back(std::move(within));
    }
    first = end;
  }
  for (Tree& tree : trees) Connect(rank == source_rank, &tree);
  return trees;
}

}  // namespace tensorfleet::collective
