#include "runtime/kernels/cpu/nn/conv_onednn.h"

#include <atomic>
#include <vector>

#include "runtime/kernels/cpu/nn/conv_primitive.h"

namespace tensorfleet::cpu {
namespace {

// A part of a convolution that one thread computes. Offsets are in elements.
struct Piece {
  ConvPlan plan;
  int64_t image = 0, out = 0;
  std::shared_ptr<const ConvPrimitive> primitive;
};

// What an image is cut along: its rows, or the planes of a volume.
Window& OutermostOf(ConvPlan& p) { return p.is_volume ? p.planes : p.rows; }
const Window& OutermostOf(const ConvPlan& p) { return p.is_volume ? p.planes : p.rows; }

// Output rows (or planes) [first, last) of image `n`, with the image's rows that they see.
Piece RowsOf(const ConvPlan& p, int64_t n, int64_t first, int64_t last) {
  Piece piece;
  piece.plan = p;
  Window& rows = OutermostOf(piece.plan);
  const Window& all = OutermostOf(p);
  const int64_t begin = std::max<int64_t>(0, all.Start(first));
  const int64_t end = std::min(all.input, all.Start(last - 1) + (all.size - 1) * all.dilation + 1);
  piece.plan.batch = 1;
  rows.output = last - first;
  rows.input = end - begin;
  rows.before = begin - all.Start(first);
  const int64_t row_in = (p.is_volume ? p.rows.input : 1) * p.columns.input * p.in_channels;
  const int64_t row_out = (p.is_volume ? p.rows.output : 1) * p.columns.output * p.out_channels;
  piece.image = (n * all.input + begin) * row_in;
  piece.out = (n * all.output + first) * row_out;
  return piece;
}

// `plan` in about `count` pieces: of whole images or, where these are few and `by_rows`, of rows.
std::vector<Piece> Cut(const ConvPlan& p, int64_t count, bool by_rows) {
  std::vector<Piece> pieces;
  if (p.batch >= count || !by_rows) {
    count = std::min(count, p.batch);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = i * p.batch / count, last = (i + 1) * p.batch / count;
      Piece piece;
      piece.plan = p;
      piece.plan.batch = last - first;
      piece.image = first * p.planes.input * p.rows.input * p.columns.input * p.in_channels;
      piece.out = first * p.positions_per_image() * p.out_channels;
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }
  const int64_t rows = OutermostOf(p).output;
  const int64_t per_image = std::clamp<int64_t>((count + p.batch - 1) / p.batch, 1, rows);
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t i = 0; i < per_image; ++i) {
      pieces.push_back(RowsOf(p, n, i * rows / per_image, (i + 1) * rows / per_image));
      // Rows that see nothing but padding: the image stays whole.
      if (OutermostOf(pieces.back().plan).input < 1) return Cut(p, count, false);
    }
  }
  return pieces;
}

// Whether oneDNN is faster than what the kernels do on their own.
bool IsWorthIt(ConvPass pass, const ConvPlan& p) {
  if (p.multiplications() < 256 * 1024) return false;
  if (p.groups > 1) return true;
  // It computes the gradients of 16 channels of an image at once, be they there or not.
  if (pass == ConvPass::kImageGradient && p.depth() < 8) return false;
  // Packing the filter has to pay.
  return p.positions() >= (pass == ConvPass::kFilterGradient ? 256 : 128);
}

constexpr double kNsPerMultiplication = 1.0 / 50;

// Pieces for as many threads as the work is worth; where `evens_out`, so small that no thread waits
// long for another. None where oneDNN is not the way.
std::vector<Piece> PiecesFor(KernelContext& ctx, ConvPass pass, const ConvPlan& p, bool by_rows,
                             bool evens_out) {
  if (!IsWorthIt(pass, p)) return {};
  constexpr double kWorthAThread = 20'000, kSoonDone = 500'000;
  const double total_ns = p.multiplications() * kNsPerMultiplication;
  const int64_t threads = ctx.pool().num_threads();
  int64_t count = std::clamp<int64_t>(static_cast<int64_t>(total_ns / kWorthAThread), 1, threads);
  if (evens_out && threads > 1 && total_ns > kSoonDone * threads) {
    count = threads * static_cast<int64_t>(total_ns / kSoonDone / threads);
    count = std::clamp(p.batch, threads, count);  // images are divided only where they must be
  }
  std::vector<Piece> pieces = Cut(p, count, by_rows);
  for (Piece& piece : pieces) {
    piece.primitive = ConvPrimitive::Find(pass, piece.plan);
    if (piece.primitive == nullptr) return {};
  }
  return pieces;
}

// The memory that one piece of a loop works in.
class Scratch {
 public:
  static StatusOr<Scratch> For(size_t bytes) {
    Scratch scratch;
    if (bytes > 0) {
      TFLEET_ASSIGN_OR_RETURN(scratch.buffer_, AllocateHostBuffer(bytes));
    }
    return scratch;
  }
  void* data() const { return buffer_ ? buffer_->data() : nullptr; }

 private:
  BufferRef buffer_;
};

// Calls run(piece, scratch) for each on the device's threads. Errors: the first piece's that
// failed.
template <typename Run>
Status ForPieces(KernelContext& ctx, const ConvPlan& p, const std::vector<Piece>& pieces,
                 const Run& run) {
  std::vector<Status> results(pieces.size());
  const double cost =
      p.multiplications() * kNsPerMultiplication / static_cast<double>(pieces.size());
  ParallelFor(ctx, static_cast<int64_t>(pieces.size()), static_cast<int64_t>(cost) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const auto scratch = Scratch::For(pieces[i].primitive->scratch_bytes());
                  results[i] = scratch.ok() ? run(i, scratch->data()) : scratch.status();
                }
              });
  for (const Status& result : results) TFLEET_RETURN_IF_ERROR(result);
  return OkStatus();
}

// The two passes that read a filter.
StatusOr<bool> ApplyFilter(KernelContext& ctx, ConvPass pass, const ConvPlan& p, const float* image,
                           const float* filter, const float* out) {
  const bool is_forward = pass == ConvPass::kForward;
  const std::vector<Piece> pieces = PiecesFor(ctx, pass, p, is_forward, true);
  if (pieces.empty()) return false;
  // Pieces of different sizes may want the filter packed differently.
  TFLEET_ASSIGN_OR_RETURN(const BufferRef packed,
                          AllocateHostBuffer(pieces[0].primitive->packed_bytes()));
  const ConvPrimitive& first = *pieces[0].primitive;
  {
    TFLEET_ASSIGN_OR_RETURN(const Scratch scratch, Scratch::For(first.scratch_bytes()));
    TFLEET_RETURN_IF_ERROR(first.Pack(filter, packed->data(), scratch.data()));
  }
  TFLEET_RETURN_IF_ERROR(ForPieces(ctx, p, pieces, [&](int64_t i, void* scratch) -> Status {
    const Piece& piece = pieces[i];
    if (piece.primitive->PacksAs(first)) {
      return piece.primitive->Run(image + piece.image, packed->data(), out + piece.out, scratch);
    }
    TFLEET_ASSIGN_OR_RETURN(const BufferRef own,
                            AllocateHostBuffer(piece.primitive->packed_bytes()));
    TFLEET_RETURN_IF_ERROR(piece.primitive->Pack(filter, own->data(), scratch));
    return piece.primitive->Run(image + piece.image, own->data(), out + piece.out, scratch);
  }));
  return true;
}

}  // namespace

StatusOr<bool> ConvolveByOneDnn(KernelContext& ctx, const ConvPlan& plan, const float* image,
                                const float* filter, float* out) {
  return ApplyFilter(ctx, ConvPass::kForward, plan, image, filter, out);
}

StatusOr<bool> ImageGradientByOneDnn(KernelContext& ctx, const ConvPlan& plan, const float* filter,
                                     const float* gradient, float* image) {
  return ApplyFilter(ctx, ConvPass::kImageGradient, plan, image, filter, gradient);
}

// Each piece has a sum of its own; they are added up in order, so that the result does not depend
// on which thread was first.
StatusOr<bool> FilterGradientByOneDnn(KernelContext& ctx, const ConvPlan& p, const float* image,
                                      const float* gradient, float* filter) {
  const std::vector<Piece> pieces = PiecesFor(ctx, ConvPass::kFilterGradient, p, true, false);
  if (pieces.empty()) return false;
  const ConvPrimitive& first = *pieces[0].primitive;
  std::vector<BufferRef> sums;
  for (const Piece& piece : pieces) {
    if (!piece.primitive->PacksAs(first)) return false;
    TFLEET_ASSIGN_OR_RETURN(BufferRef sum, AllocateHostBuffer(first.packed_bytes()));
    sums.push_back(std::move(sum));
  }
  TFLEET_RETURN_IF_ERROR(ForPieces(ctx, p, pieces, [&](int64_t i, void* scratch) {
    const Piece& piece = pieces[i];
    return piece.primitive->Run(image + piece.image, sums[i]->data(), gradient + piece.out,
                                scratch);
  }));
  const int64_t size = static_cast<int64_t>(first.packed_bytes() / sizeof(float));
  float* const total = static_cast<float*>(sums[0]->data());
  const auto blocks = (size + 1023) / 1024;
  if (pieces.size() > 1) {
    ParallelFor(ctx, blocks, static_cast<int64_t>(100 * pieces.size()),
                [&](int64_t begin, int64_t end) {
                  const int64_t last = std::min(end * 1024, size);
                  for (size_t k = 1; k < sums.size(); ++k) {
                    const float* sum = static_cast<const float*>(sums[k]->data());
                    for (int64_t i = begin * 1024; i < last; ++i) total[i] += sum[i];
                  }
                });
  }
  TFLEET_ASSIGN_OR_RETURN(const Scratch scratch, Scratch::For(first.scratch_bytes()));
  TFLEET_RETURN_IF_ERROR(first.Unpack(total, filter, scratch.data()));
  return true;
}

}  // namespace tensorfleet::cpu
