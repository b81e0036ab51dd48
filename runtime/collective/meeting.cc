#include "runtime/collective/meeting.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/collective/instance_table.h"
#include "runtime/collective/merge.h"

namespace tensorfleet::collective {
namespace {

// All inputs merged, as a vector.
StatusOr<Tensor> MergeAll(absl::Span<const CollectiveArgs> members) {
  const CollectiveArgs& first = members[0];
  TFLEET_RETURN_IF_ERROR(CheckCanMerge(first.dtype));
  if (members.size() == 1 && first.final == FinalOp::kId) return first.input.Flat();
  TFLEET_ASSIGN_OR_RETURN(Tensor merged, Tensor::Allocate(first.dtype, first.input.shape()));
  merged = merged.Flat();
  const int64_t n = merged.num_elements();
  // In pieces that stay in the cache while all members' are merged.
  constexpr int64_t kPiece = 16 << 10;
  const auto at = [&](const Tensor& tensor, int64_t i) {
    return static_cast<const char*>(tensor.raw()) + i * ElementSize(first.dtype);
  };
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    char* const out = static_cast<char*>(merged.mutable_raw()) + i * ElementSize(first.dtype);
    if (members.size() == 1) std::memcpy(out, at(first.input, i), count * ElementSize(first.dtype));
    for (size_t m = 1; m < members.size(); ++m) {
      Merge(first.merge, first.dtype, m == 1 ? at(first.input, i) : out, at(members[m].input, i),
            out, count);
    }
    Finish(first.final, first.dtype, out, count, static_cast<int>(members.size()));
  }
  return merged;
}

StatusOr<Tensor> Joined(absl::Span<const CollectiveArgs> members, int64_t begin, int64_t bytes) {
  TFLEET_ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(members[0].dtype, members[0].shape));
  char* out = static_cast<char*>(joined.mutable_raw());
  for (const CollectiveArgs& member : members) {
    std::memcpy(out, static_cast<const char*>(member.input.raw()) + begin, bytes);
    out += bytes;
  }
  return joined;
}

StatusOr<Tensor> SourceOf(absl::Span<const CollectiveArgs> members) {
  const CollectiveArgs* source = nullptr;
  for (const CollectiveArgs& member : members) {
    if (!member.is_source) continue;
    if (source != nullptr) {
      return InvalidArgument("Instance ", member.instance_key, " has two sources, ",
                             source->device->name, " and ", member.device->name);
    }
    source = &member;
  }
  if (source == nullptr) {
    return InvalidArgument(
        "Instance ", members[0].instance_key,
        " found no source for broadcast.  This could mean that there were group_size=",
        members.size(), " BcastRecvs but no BcastSend.");
  }
  return source->input;
}

InstanceClaim ClaimOf(const CollectiveArgs& args) {
  InstanceClaim claim;
  claim.instance_key = args.instance_key;
  claim.kind = args.kind;
  claim.dtype = args.dtype;
  claim.shape = args.shape;
  claim.node = args.node;
  claim.device = args.device->name;
  claim.merge = MergeText(args);
  return claim;
}

}  // namespace

std::string MergeText(const CollectiveArgs& args) {
  if (args.kind != CollectiveKind::kReduce && args.kind != CollectiveKind::kReduceScatter)
    return "";
  static constexpr const char* kMerges[] = {"Add", "Mul", "Minimum", "Maximum"};
  return absl::StrCat("(", kMerges[static_cast<int>(args.merge)], ",",
                      args.final == FinalOp::kDiv ? "Div" : "Id", ")");
}

StatusOr<std::vector<Tensor>> Meet(absl::Span<const CollectiveArgs> members) {
  const CollectiveArgs& first = members[0];
  const size_t size = members.size();
  for (const CollectiveArgs& member : members) {
    TFLEET_RETURN_IF_ERROR(CheckSameClaim(ClaimOf(first), ClaimOf(member)));
  }
  switch (first.kind) {
    case CollectiveKind::kReduce: {
      TFLEET_ASSIGN_OR_RETURN(const Tensor merged, MergeAll(members));
      return std::vector<Tensor>(size, merged.Reshaped(first.shape));
    }
    case CollectiveKind::kReduceScatter: {
      TFLEET_ASSIGN_OR_RETURN(const Tensor merged, MergeAll(members));
      const int64_t share = merged.num_elements() / static_cast<int64_t>(size);
      std::vector<Tensor> shares;
      for (size_t i = 0; i < size; ++i) {
        const auto begin = static_cast<int64_t>(i) * share;
        shares.push_back(merged.Rows(begin, begin + share).Reshaped(first.shape));
      }
      return shares;
    }
    case CollectiveKind::kGather: {
      TFLEET_ASSIGN_OR_RETURN(const Tensor joined,
                              Joined(members, 0, static_cast<int64_t>(first.input.bytes())));
      return std::vector<Tensor>(size, joined);
    }
    case CollectiveKind::kBroadcast: {
      TFLEET_ASSIGN_OR_RETURN(const Tensor value, SourceOf(members));
      return std::vector<Tensor>(size, value);
    }
    case CollectiveKind::kAllToAll: {
      const auto row = static_cast<int64_t>(first.input.bytes() / size);
      std::vector<Tensor> rows;
      for (size_t i = 0; i < size; ++i) {
        TFLEET_ASSIGN_OR_RETURN(Tensor joined, Joined(members, static_cast<int64_t>(i) * row, row));
        rows.push_back(std::move(joined));
      }
      return rows;
    }
  }
  return Internal("an unknown kind of collective");
}

}  // namespace tensorfleet::collective
