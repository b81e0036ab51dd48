// Random numbers that follow from their inputs: Philox4x32-10 and TensorFlow's distributions on it,
// word for word what kernels/cpu/random computes. Stateful ops become such ones before clusters are
// gathered (place/passes/split_random.h).
#include <array>
#include <cmath>

#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

constexpr DType kWord = DType::kUInt32;

// A place in a sequence: scalars of type uint64.
struct Place {
  Hlo key, low, high;
};

using Block = std::array<Hlo, 4>;

class PhiloxHlo {
 public:
  explicit PhiloxHlo(HloBuilder& builder) : b(builder) {}

  Hlo Word(uint32_t value, const Shape& shape) {
    return b.BroadcastTo(b.Constant(Tensor::Scalar<uint32_t>(value)).value(), shape);
  }
  Hlo Long(uint64_t value) { return b.Constant(Tensor::Scalar<uint64_t>(value)).value(); }
  Hlo Shift(const char* opcode, const Hlo& x, int bits) {
    return b.Binary(opcode, x, b.Full(x.dtype, x.shape, bits));
  }
  Hlo LowWord(const Hlo& x) { return b.Convert(x, kWord); }
  Hlo HighWord(const Hlo& x) { return b.Convert(Shift("shift-right-logical", x, 32), kWord); }
  Hlo Joined(const Hlo& low, const Hlo& high) {
    return b.Binary("or", b.Convert(low, DType::kUInt64),
                    Shift("shift-left", b.Convert(high, DType::kUInt64), 32));
  }

  // The blocks so many after `place`; `offsets` of any shape, uint64.
  Block Blocks(const Place& place, const Hlo& offsets) {
    const Shape& shape = offsets.shape;
    const Hlo low = b.Add(b.BroadcastTo(place.low, shape), offsets);
    const Hlo carry = b.Compare("LT", low, offsets);
    const Hlo high = b.Add(b.BroadcastTo(place.high, shape), b.Convert(carry, DType::kUInt64));
    Block x = {LowWord(low), HighWord(low), LowWord(high), HighWord(high)};
    Hlo key_a = b.BroadcastTo(LowWord(place.key), shape);
    Hlo key_b = b.BroadcastTo(HighWord(place.key), shape);
    const Hlo bump_a = Word(0x9E3779B9, shape), bump_b = Word(0xBB67AE85, shape);
    const Hlo by_a = b.Convert(Word(0xD2511F53, shape), DType::kUInt64);
    const Hlo by_b = b.Convert(Word(0xCD9E8D57, shape), DType::kUInt64);
    for (int round = 0; round < 10; ++round) {
      const Hlo p = b.Mul(b.Convert(x[0], DType::kUInt64), by_a);
      const Hlo q = b.Mul(b.Convert(x[2], DType::kUInt64), by_b);
      x = {Xor(Xor(HighWord(q), x[1]), key_a), LowWord(q), Xor(Xor(HighWord(p), x[3]), key_b),
           LowWord(p)};
      key_a = b.Add(key_a, bump_a);
      key_b = b.Add(key_b, bump_b);
    }
    return x;
  }
  // Words [n, 4] of the first n blocks.
  Block FirstBlocks(const Place& place, int64_t n) {
    return Blocks(place, b.Iota(DType::kUInt64, Shape::Make({n}).value(), 0));
  }
  // The k results of each of n blocks, in turns, cut to `shape`.
  Hlo Interleaved(absl::Span<const Hlo> results, const Shape& shape) {
    const int64_t n = results[0].shape.dim(0), k = static_cast<int64_t>(results.size());
    std::vector<Hlo> columns;
    for (const Hlo& result : results) columns.push_back(b.Reshape(result, Column(n)));
    const Hlo all = b.Reshape(b.Concat(columns, 1), Shape::Make({n * k}).value());
    return b.Reshape(b.Slice(all, {0}, {shape.num_elements()}, {1}), shape);
  }

  Hlo Xor(const Hlo& x, const Hlo& y) { return b.Binary("xor", x, y); }
  Hlo And(const Hlo& x, uint32_t mask) { return b.Binary("and", x, Word(mask, x.shape)); }

  // Uniform in [0, 1): the low bits of a word as the fraction of a number in [1, 2).
  Hlo Unit(const Hlo& word, DType dtype) {
    const int bits = dtype == DType::kHalf ? 10 : dtype == DType::kBFloat16 ? 7 : 23;
    const uint32_t exponent = dtype == DType::kHalf ? 15 : 127;
    const Hlo pattern =
        b.Binary("or", And(word, (1u << bits) - 1), Word(exponent << bits, word.shape));
    const DType raw = dtype == DType::kFloat ? kWord : DType::kUInt16;
    return b.Sub(b.BitcastConvert(b.Convert(pattern, raw), dtype), 1);
  }
  Hlo UnitDouble(const Hlo& high, const Hlo& low) {
    const Hlo fraction = Joined(low, And(high, 0xfffff));
    const Hlo pattern =
        b.Binary("or", fraction, b.BroadcastTo(Long(uint64_t{1023} << 52), fraction.shape));
    return b.Sub(b.BitcastConvert(pattern, DType::kDouble), 1);
  }
  // Two normal numbers of two uniform ones (Box and Muller).
  std::pair<Hlo, Hlo> NormalPair(const Hlo& first, const Hlo& second) {
    const DType dtype = first.dtype;
    const Hlo u = b.Binary("maximum", first, b.Full(dtype, first.shape, 1.0e-7));
    const Hlo angle = b.Convert(b.Mul(b.Convert(second, DType::kDouble), 2.0 * M_PI), dtype);
    const Hlo radius = b.Unary("sqrt", b.Mul(b.Unary("log", u), -2.0));
    return {b.Mul(b.Unary("sine", angle), radius), b.Mul(b.Unary("cosine", angle), radius)};
  }

  HloBuilder& b;

 private:
  static Shape Column(int64_t n) { return Shape::Make({n, 1}).value(); }
};

// How a distribution gives the results of a block.
using Distribution = std::vector<Hlo> (*)(PhiloxHlo& p, const Block& words, DType dtype);

std::vector<Hlo> Uniform(PhiloxHlo& p, const Block& words, DType dtype) {
  if (dtype == DType::kDouble) {
    return {p.UnitDouble(words[0], words[1]), p.UnitDouble(words[2], words[3])};
  }
  std::vector<Hlo> results;
  for (const Hlo& word : words) results.push_back(p.Unit(word, dtype));
  return results;
}

std::vector<Hlo> Normal(PhiloxHlo& p, const Block& words, DType dtype) {
  if (dtype == DType::kDouble) {
    const auto [a, b] =
        p.NormalPair(p.UnitDouble(words[0], words[1]), p.UnitDouble(words[2], words[3]));
    return {a, b};
  }
  std::vector<Hlo> results;
  for (int i = 0; i < 4; i += 2) {
    const auto [a, b] =
        p.NormalPair(p.Unit(words[i], DType::kFloat), p.Unit(words[i + 1], DType::kFloat));
    results.push_back(p.b.Convert(a, dtype));
    results.push_back(p.b.Convert(b, dtype));
  }
  return results;
}

std::vector<Hlo> FullInt(PhiloxHlo& p, const Block& words, DType dtype) {
  if (ElementSize(dtype) == 8) {
    return {p.b.BitcastConvert(p.Joined(words[0], words[1]), dtype),
            p.b.BitcastConvert(p.Joined(words[2], words[3]), dtype)};
  }
  std::vector<Hlo> results;
  for (const Hlo& word : words) results.push_back(p.b.BitcastConvert(word, dtype));
  return results;
}

StatusOr<Shape> ShapeInput(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.ConstantInts(0));
  return Shape::Make(dims);
}

// Inputs key, counter and alg behind the shape.
StatusOr<Place> ReadPlace(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const std::vector<int64_t> alg, ctx.ConstantInts(3));
  const Shape &key = ctx.shape(1), &counter = ctx.shape(2);
  if (alg.size() != 1 || ctx.shape(3).rank() != 0 || (alg[0] != 1 && alg[0] != 3)) {
    return Unimplemented("another algorithm than Philox");
  }
  if (key.rank() != 1 || key.dim(0) != 1 || counter.rank() != 1 || counter.dim(0) < 2) {
    return Unimplemented("a key or counter of another shape");
  }
  HloBuilder& b = ctx.hlo();
  const auto word = [&](int64_t i) {
    return b.Reshape(b.Slice(ctx.input(2), {i}, {i + 1}, {1}), Shape());
  };
  return Place{b.Reshape(ctx.input(1), Shape()), word(0), word(1)};
}

// Spreads a pair of seeds, input `i`, over key and counter.
StatusOr<Place> Scrambled(LoweringContext& ctx, int i) {
  if (ctx.shape(i).rank() != 1 || ctx.shape(i).dim(0) != 2) return Unimplemented("such seeds");
  HloBuilder& b = ctx.hlo();
  PhiloxHlo p(b);
  const Hlo seeds = b.BitcastConvert(b.Convert(ctx.input(i), DType::kInt64), DType::kUInt64);
  const auto seed = [&](int64_t k) {
    return b.Reshape(b.Slice(seeds, {k}, {k + 1}, {1}), Shape());
  };
  const Place start = {p.Long(0x02461e293ec8f720), seed(0), seed(1)};
  const Block mixed = p.Blocks(start, p.Long(0));
  return Place{p.Joined(mixed[0], mixed[1]), p.Long(0), p.Joined(mixed[2], mixed[3])};
}

template <bool kIsSeeded>
StatusOr<Place> PlaceOf(LoweringContext& ctx) {
  return kIsSeeded ? Scrambled(ctx, 1) : ReadPlace(ctx);
}

template <Distribution kDistribution, bool kIsSeeded>
Status Random(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeInput(ctx));
  TFLEET_ASSIGN_OR_RETURN(const Place place, PlaceOf<kIsSeeded>(ctx));
  const DType dtype = ctx.node().output_type(0);
  PhiloxHlo p(ctx.hlo());
  if (shape.num_elements() == 0) {
    ctx.Set(0, ctx.hlo().Full(dtype, shape, 0));
    return OkStatus();
  }
  const int64_t per_block = ElementSize(dtype) == 8 ? 2 : 4;
  const int64_t blocks = (shape.num_elements() + per_block - 1) / per_block;
  ctx.Set(0, p.Interleaved(kDistribution(p, p.FirstBlocks(place, blocks), dtype), shape));
  return OkStatus();
}

// low + x mod (high - low), in words without a sign.
template <bool kIsSeeded>
Status UniformInt(LoweringContext& ctx) {
  const int bounds = kIsSeeded ? 2 : 4;
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeInput(ctx));
  TFLEET_ASSIGN_OR_RETURN(const Place place, PlaceOf<kIsSeeded>(ctx));
  if (ctx.shape(bounds).rank() != 0 || ctx.shape(bounds + 1).rank() != 0) {
    return Unimplemented("bounds that are no scalars");
  }
  HloBuilder& b = ctx.hlo();
  PhiloxHlo p(b);
  const Hlo low = ctx.input(bounds), high = ctx.input(bounds + 1);
  const DType dtype = low.dtype;
  ctx.faults().Add(b.Compare("GE", low, high));
  if (shape.num_elements() == 0) {
    ctx.Set(0, b.Full(dtype, shape, 0));
    return OkStatus();
  }
  const bool is_wide = ElementSize(dtype) == 8;
  const DType raw = is_wide ? DType::kUInt64 : kWord;
  const int64_t per_block = is_wide ? 2 : 4;
  const int64_t blocks = (shape.num_elements() + per_block - 1) / per_block;
  const Hlo words = p.Interleaved(FullInt(p, p.FirstBlocks(place, blocks), raw), shape);
  const Hlo from = b.BitcastConvert(low, raw);
  const Hlo range = b.Sub(b.BitcastConvert(high, raw), from);
  const Hlo drawn =
      b.Add(b.Binary("remainder", words, b.BroadcastTo(range, shape)), b.BroadcastTo(from, shape));
  ctx.Set(0, b.BitcastConvert(drawn, dtype));
  return OkStatus();
}

// Results come in groups, each of which draws pairs from a stretch of the sequence of its own and
// keeps what is nearer to 0 than 2, until it is full. All groups draw together.
template <bool kIsSeeded>
Status TruncatedNormal(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Shape shape, ShapeInput(ctx));
  TFLEET_ASSIGN_OR_RETURN(const Place place, PlaceOf<kIsSeeded>(ctx));
  const DType dtype = ctx.node().output_type(0);
  const DType wide = dtype == DType::kDouble ? DType::kDouble : DType::kFloat;
  const int64_t group = wide == DType::kDouble ? 2 : 4;
  const int64_t blocks_per_group = group * 256 / 4;
  const int64_t groups = (shape.num_elements() + group - 1) / group;
  HloBuilder& b = ctx.hlo();
  if (groups == 0) {
    ctx.Set(0, b.Full(dtype, shape, 0));
    return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape each, Shape::Make({groups}));
  // The state: the place, blocks drawn, results of each group that are there, the results.
  HloBuilder::Values state = {place.key, place.low, place.high, b.Scalar(DType::kUInt64, 0),
                              b.Full(DType::kInt32, each, 0)};
  for (int64_t i = 0; i < group; ++i) state.push_back(b.Full(wide, each, 0));
  const auto some_are_open = [&](const HloBuilder::Values& s) -> StatusOr<Hlo> {
    const Hlo full = b.Full(DType::kInt32, each, static_cast<double>(group));
    return b.Reduce("or", b.Compare("LT", s[4], full), b.Scalar(DType::kBool, 0), {0});
  };
  const auto draw = [&](const HloBuilder::Values& s) -> StatusOr<HloBuilder::Values> {
    PhiloxHlo p(b);
    HloBuilder::Values next = s;
    const Hlo stretch =
        b.Binary("multiply", b.Iota(DType::kUInt64, each, 0),
                 b.Full(DType::kUInt64, each, static_cast<double>(blocks_per_group)));
    const Block words = p.Blocks({s[0], s[1], s[2]}, b.Add(stretch, b.BroadcastTo(s[3], each)));
    next[3] = b.Add(s[3], 1);
    for (const Hlo& value : Normal(p, words, wide)) {
      const Hlo two = b.Full(wide, each, 2);
      const Hlo is_kept = b.Compare("LT", b.Unary("abs", value), two);
      for (int64_t i = 0; i < group; ++i) {
        const Hlo is_next =
            b.Compare("EQ", next[4], b.Full(DType::kInt32, each, static_cast<double>(i)));
        next[5 + i] = b.Select(b.Binary("and", is_kept, is_next), value, next[5 + i]);
      }
      next[4] = b.Add(next[4], b.Convert(is_kept, DType::kInt32));
    }
    return next;
  };
  TFLEET_ASSIGN_OR_RETURN(const HloBuilder::Values drawn, b.While(state, some_are_open, draw));
  std::vector<Hlo> results;
  for (int64_t i = 0; i < group; ++i) results.push_back(b.Convert(drawn[5 + i], dtype));
  ctx.Set(0, PhiloxHlo(b).Interleaved(results, shape));
  return OkStatus();
}

Status GetKeyCounter(LoweringContext& ctx) {
  TFLEET_ASSIGN_OR_RETURN(const Place place, Scrambled(ctx, 0));
  HloBuilder& b = ctx.hlo();
  TFLEET_ASSIGN_OR_RETURN(const Shape one, Shape::Make({1}));
  ctx.Set(0, b.Reshape(place.key, one));
  ctx.Set(1, b.Concat({b.Reshape(place.low, one), b.Reshape(place.high, one)}, 0));
  if (ctx.node().num_outputs() == 3) ctx.SetConstant(2, Tensor::Scalar<int32_t>(1));
  return OkStatus();
}

template <bool kIsSeeded>
void AddForms(LoweringRegistry& r, const char* version) {
  const std::pair<std::string, std::vector<DType>> floats = {"dtype", FloatTypes()};
  const std::pair<std::string, std::vector<DType>> full = {
      "dtype", {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64}};
  const std::pair<std::string, std::vector<DType>> ints = {"dtype", IndexTypes()};
  r.Add(absl::StrCat("StatelessRandomUniform", version), Random<Uniform, kIsSeeded>, {floats});
  r.Add(absl::StrCat("StatelessRandomNormal", version), Random<Normal, kIsSeeded>, {floats});
  r.Add(absl::StrCat("StatelessTruncatedNormal", version), TruncatedNormal<kIsSeeded>, {floats});
  r.Add(absl::StrCat("StatelessRandomUniformFullInt", version), Random<FullInt, kIsSeeded>, {full});
  r.Add(absl::StrCat("StatelessRandomUniformInt", version), UniformInt<kIsSeeded>, {ints});
}

}  // namespace

void AddRandomLowerings(LoweringRegistry& r) {
  AddForms<true>(r, "");
  AddForms<false>(r, "V2");
  r.Add("StatelessRandomGetKeyCounter", GetKeyCounter).is_light = true;
  r.Add("StatelessRandomGetKeyCounterAlg", GetKeyCounter).is_light = true;
}

}  // namespace tensorfleet::pjrt
