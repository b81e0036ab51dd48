// Blocks of space in exchange for depth or batch. Kernels: runtime/kernels/cpu/array/space.cc.
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// In these dimensions, then turned, then in those of `result`.
StatusOr<Hlo> Rearranged(HloBuilder& b, const Hlo& x, Dims split, Dims permutation, Dims result) {
  TFLEET_ASSIGN_OR_RETURN(const Shape parts, Shape::Make(split));
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(result));
  return b.Reshape(b.Transpose(b.Reshape(x, parts), permutation), shape);
}

// Images of [batch, height, width, channels], or with the channels after the batch.
struct Blocks {
  int64_t size = 0;
  bool channels_last = true;
};

StatusOr<Blocks> BlocksOf(LoweringContext& ctx) {
  Blocks blocks;
  TFLEET_ASSIGN_OR_RETURN(blocks.size, ctx.Attr<int64_t>("block_size"));
  TFLEET_ASSIGN_OR_RETURN(const std::string format, ctx.Attr<std::string>("data_format"));
  if (format != "NHWC" && format != "NCHW") return Unimplemented("data format ", format);
  blocks.channels_last = format == "NHWC";
  if (ctx.shape(0).rank() != 4) return Unimplemented("no images");
  if (blocks.size < 1 || ctx.shape(0).num_elements() == 0) return Unimplemented("empty blocks");
  return blocks;
}

// Depth counts the row in the block, then the column, then the channel.
Status SpaceToDepth(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(ctx));
  const Shape& x = ctx.shape(0);
  const int64_t s = blocks.size, n = x.dim(0);
  const int row = blocks.channels_last ? 1 : 2;
  const int64_t c = x.dim(blocks.channels_last ? 3 : 1), h = x.dim(row), w = x.dim(row + 1);
  if (h % s != 0 || w % s != 0) return Unimplemented("images that blocks do not divide");
  StatusOr<Hlo> y = blocks.channels_last
                        ? Rearranged(ctx.hlo(), ctx.input(0), {n, h / s, s, w / s, s, c},
                                     {0, 1, 3, 2, 4, 5}, {n, h / s, w / s, s * s * c})
                        : Rearranged(ctx.hlo(), ctx.input(0), {n, c, h / s, s, w / s, s},
                                     {0, 3, 5, 1, 2, 4}, {n, s * s * c, h / s, w / s});
  TFLEET_RETURN_IF_ERROR(y.status());
  ctx.Set(0, *y);
  return OkStatus();
}

Status DepthToSpace(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(ctx));
  const Shape& x = ctx.shape(0);
  const int64_t s = blocks.size, n = x.dim(0);
  const int row = blocks.channels_last ? 1 : 2;
  const int64_t depth = x.dim(blocks.channels_last ? 3 : 1), h = x.dim(row), w = x.dim(row + 1);
  if (depth % s != 0 || depth / s % s != 0) return Unimplemented("a depth that is no blocks");
  const int64_t c = depth / s / s;
  StatusOr<Hlo> y = blocks.channels_last ? Rearranged(ctx.hlo(), ctx.input(0), {n, h, w, s, s, c},
                                                      {0, 1, 3, 2, 4, 5}, {n, h * s, w * s, c})
                                         : Rearranged(ctx.hlo(), ctx.input(0), {n, s, s, c, h, w},
                                                      {0, 3, 4, 1, 5, 2}, {n, c, h * s, w * s});
  TFLEET_RETURN_IF_ERROR(y.status());
  ctx.Set(0, *y);
  return OkStatus();
}

// What both ops on batches are told: a block and two margins for each of the dimensions after the
// batch. The first versions have squares, as an attribute says.
struct Batches {
  std::vector<int64_t> block, margins;
  int64_t blocks = 1;  // elements of one

  int count() const { return static_cast<int>(block.size()); }
  int64_t before(int i) const { return margins[2 * i]; }
  int64_t after(int i) const { return margins[2 * i + 1]; }
};

StatusOr<Batches> BatchesOf(LoweringContext& ctx) {
  Batches found;
  const bool is_first_version = ctx.num_inputs() == 2;
  if (is_first_version) {
    TFLEET_ASSIGN_OR_RETURN(const int64_t size, ctx.Attr<int64_t>("block_size"));
    if (size < 2) return Unimplemented("blocks of that size");
    found.block = {size, size};
  } else {
    if (ctx.shape(1).rank() != 1) return Unimplemented("a block that is no vector");
    TFLEET_ASSIGN_OR_RETURN(found.block, ctx.ConstantInts(1));
  }
  const int margins = is_first_version ? 1 : 2, rank = ctx.shape(0).rank();
  TFLEET_ASSIGN_OR_RETURN(found.margins, ctx.ConstantInts(margins));
  TFLEET_ASSIGN_OR_RETURN(const Shape pairs, Shape::Make({found.count(), 2}));
  if (ctx.shape(margins) != pairs || rank < 1 + found.count() || (is_first_version && rank != 4) ||
      ctx.shape(0).num_elements() == 0) {
    return Unimplemented("blocks that do not fit");
  }
  // What no tensor can be as long as; so that nothing overflows.
  constexpr int64_t kMost = int64_t{1} << 40;
  for (const int64_t margin : found.margins) {
    if (margin < 0 || margin > kMost) return Unimplemented("a margin of ", margin);
  }
  for (const int64_t size : found.block) {
    if (size < 1 || size > (int64_t{1} << 24) / found.blocks) {
      return Unimplemented("blocks of that size");
    }
    found.blocks *= size;
  }
  return found;
}

Status SpaceToBatch(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Batches batches, BatchesOf(ctx));
  const Shape& x = ctx.shape(0);
  const int count = batches.count(), rank = x.rank();
  HloBuilder& b = ctx.hlo();
  std::vector<PadAxis> padding(rank);
  std::vector<int64_t> split = {x.dim(0)}, result = {x.dim(0) * batches.blocks};
  std::vector<int64_t> blocks, places = {0};
  for (int i = 0; i < count; ++i) {
    padding[1 + i] = {batches.before(i), batches.after(i), 0};
    const int64_t padded = x.dim(1 + i) + batches.before(i) + batches.after(i);
    if (padded % batches.block[i] != 0) return Unimplemented("blocks that do not divide the space");
    places.push_back(static_cast<int64_t>(split.size()));
    blocks.push_back(places.back() + 1);
    split.insert(split.end(), {padded / batches.block[i], batches.block[i]});
    result.push_back(padded / batches.block[i]);
  }
  for (int i = 1 + count; i < rank; ++i) {
    places.push_back(static_cast<int64_t>(split.size()));
    split.push_back(x.dim(i));
    result.push_back(x.dim(i));
  }
  TFLEET_RETURN_IF_ERROR(Shape::Make(result).status());
  blocks.insert(blocks.end(), places.begin(), places.end());
  const Hlo padded = b.Pad(ctx.input(0), b.Scalar(ctx.dtype(0), 0), padding);
  TFLEET_ASSIGN_OR_RETURN(const Hlo y, Rearranged(b, padded, split, blocks, result));
  ctx.Set(0, y);
  return OkStatus();
}

Status BatchToSpace(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Batches batches, BatchesOf(ctx));
  const Shape& x = ctx.shape(0);
  const int count = batches.count(), rank = x.rank();
  if (x.dim(0) % batches.blocks != 0) return Unimplemented("a batch that is no blocks");
  std::vector<int64_t> split = batches.block, permutation = {count};
  std::vector<int64_t> whole = {x.dim(0) / batches.blocks};
  split.push_back(whole[0]);
  std::vector<int64_t> start(rank, 0), limit(rank), stride(rank, 1);
  for (int i = 1; i < rank; ++i) {
    split.push_back(x.dim(i));
    permutation.push_back(count + i);
    if (i > count) {
      whole.push_back(x.dim(i));
      continue;
    }
    permutation.push_back(i - 1);
    whole.push_back(x.dim(i) * batches.block[i - 1]);
    start[i] = batches.before(i - 1);
    if (start[i] + batches.after(i - 1) > whole.back()) return Unimplemented("crops of more");
  }
  for (int i = 0; i < rank; ++i) limit[i] = whole[i];
  for (int i = 0; i < count; ++i) limit[1 + i] -= batches.after(i);
  HloBuilder& b = ctx.hlo();
  TFLEET_ASSIGN_OR_RETURN(const Hlo y, Rearranged(b, ctx.input(0), split, permutation, whole));
  ctx.Set(0, b.Slice(y, start, limit, stride));
  return OkStatus();
}

}  // namespace

void AddSpaceLowerings(LoweringRegistry& r) {
  const std::pair<const char*, Lowering> kOps[] = {
      {"SpaceToDepth", SpaceToDepth},   {"DepthToSpace", DepthToSpace},
      {"SpaceToBatchND", SpaceToBatch}, {"SpaceToBatch", SpaceToBatch},
      {"BatchToSpaceND", BatchToSpace}, {"BatchToSpace", BatchToSpace}};
  for (const auto& [op, lower] : kOps) r.Add(op, lower, {{"T", AllTypes()}}).is_light = true;
}

}  // namespace tensorfleet::pjrt
