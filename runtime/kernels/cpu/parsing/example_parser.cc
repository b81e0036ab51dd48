#include "runtime/kernels/cpu/parsing/example_parser.h"

#include "absl/strings/escaping.h"
#include "runtime/kernels/cpu/elements.h"
#include "runtime/kernels/cpu/parsing/merge_columns.h"

namespace tensorfleet::cpu {
namespace {

// A thread takes at least so many bytes: less is not worth handing over.
constexpr size_t kChunkBytes = 16 << 10;
constexpr int64_t kChunkNanoseconds = 20'000;  // about what that takes

// How much of a malformed example a message shows.
constexpr size_t kShownBytes = 1000;

std::string NameOf(absl::Span<const std::string> names, int64_t example) {
  return names.empty() ? "<unknown>" : names[example];
}

}  // namespace

Status SetDenseShape(const PartialShape& shape, int index, FeatureSpec* spec) {
  const bool is_padded = shape.has_rank() && shape.rank() > 0 && !shape.has_dim(0);
  PartialShape row = shape;
  if (is_padded) row.set_dim(0, 1);
  if (!shape.has_rank() || !row.is_fully_defined()) {
    return InvalidArgument("dense_shapes[", index,
                           "] has unknown rank or unknown inner dimensions: ", shape.ToString());
  }
  TFLEET_ASSIGN_OR_RETURN(const Shape known, row.ToShape());
  spec->kind = is_padded ? FeatureKind::kPadded : FeatureKind::kDense;
  spec->shape = shape;
  spec->stride = known.num_elements();
  if (is_padded && spec->stride == 0) {
    return InvalidArgument("dense_shapes[", index,
                           "] has rows without elements: ", shape.ToString());
  }
  return OkStatus();
}

Status SetFallback(const Tensor& fallback, int index, FeatureSpec* spec) {
  if (spec->kind == FeatureKind::kPadded) {
    if (fallback.num_elements() != 1) {
      return InvalidArgument("dense_shape[", index,
                             "] is a variable length shape: ", spec->shape.ToString(),
                             ", therefore def_value[", index,
                             "] must contain a single element (\"the padding element\").  But its "
                             "shape is: ",
                             fallback.shape().ToString());
    }
  } else if (fallback.num_elements() > 0 &&
             !spec->shape.IsCompatibleWith(PartialShape(fallback.shape()))) {
    return InvalidArgument("def_value[", index, "].shape() == ", fallback.shape().ToString(),
                           " is not compatible with dense_shapes_[", index,
                           "] == ", spec->shape.ToString());
  }
  if (fallback.dtype() != spec->type) {
    return InvalidArgument("dense_defaults[", index, "].dtype() == ", DTypeName(fallback.dtype()),
                           " != dense_types_[", index, "] == ", DTypeName(spec->type));
  }
  spec->fallback = fallback;
  return OkStatus();
}

struct ExampleParser::Batch {
  absl::Span<const std::string> examples;
  absl::Span<const std::string> names;
  std::vector<FeatureOutput>* outputs;
};

// What one thread does: a range of examples.
struct ExampleParser::Chunk {
  // A key at some position of an example, and its feature (-1: none). Examples that one writer
  // wrote have their keys in the same order: the next example is compared with this one before
  // keys are looked up.
  struct Guess {
    absl::string_view key;
    int feature = -1;
  };

  int64_t begin = 0, end = 0;
  std::vector<Guess> guesses;
  std::vector<absl::string_view> found;  // the example's serialized features; null data: missing
  std::vector<FeatureColumn> columns;    // by feature; empty for dense ones
  Status status;
};

ExampleParser::ExampleParser(const std::vector<FeatureSpec>& specs, uint32_t beside)
    : specs_(specs), beside_(beside) {
  for (size_t i = 0; i < specs.size(); ++i) by_key_.emplace(specs[i].key, static_cast<int>(i));
}

int ExampleParser::IndexOf(absl::string_view key) const {
  const auto it = by_key_.find(key);
  return it == by_key_.end() ? -1 : it->second;
}

StatusOr<std::vector<FeatureOutput>> ExampleParser::Parse(const KernelContext& ctx,
                                                          absl::Span<const std::string> examples,
                                                          absl::Span<const std::string> names,
                                                          bool is_single) const {
  std::vector<FeatureOutput> outputs(specs_.size());
  const int64_t size = static_cast<int64_t>(examples.size());
  for (size_t f = 0; f < specs_.size(); ++f) {
    if (specs_[f].kind != FeatureKind::kDense) continue;
    TFLEET_ASSIGN_OR_RETURN(Shape shape, specs_[f].shape.ToShape());
    if (!is_single) {
      TFLEET_ASSIGN_OR_RETURN(shape, shape.Stacked(size));
    }
    TFLEET_ASSIGN_OR_RETURN(outputs[f].values, ctx.Allocate(specs_[f].type, shape));
  }
  size_t bytes = 0;
  for (const std::string& example : examples) bytes += example.size();
  const int64_t num_chunks =
      std::max<int64_t>(1, std::min<int64_t>({size, ctx.pool().num_threads() * 4,
                                              static_cast<int64_t>(bytes / kChunkBytes)}));
  const Batch batch{examples, names, &outputs};
  std::vector<Chunk> chunks(num_chunks);
  ParallelFor(ctx, num_chunks, kChunkNanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      chunks[c].begin = size * c / num_chunks;
      chunks[c].end = size * (c + 1) / num_chunks;
      chunks[c].status = ParseChunk(batch, &chunks[c]);
    }
  });
  for (const Chunk& chunk : chunks) TFLEET_RETURN_IF_ERROR(chunk.status);
  std::vector<Status> merged(specs_.size());
  ParallelFor(ctx, static_cast<int64_t>(specs_.size()),
              static_cast<int64_t>(bytes / (specs_.size() + 1)), [&](int64_t begin, int64_t end) {
                for (int64_t f = begin; f < end; ++f) {
                  if (specs_[f].kind == FeatureKind::kDense) continue;
                  std::vector<const FeatureColumn*> columns;
                  for (const Chunk& chunk : chunks) columns.push_back(&chunk.columns[f]);
                  StatusOr<FeatureOutput> output = MergeColumns(specs_[f], columns, is_single);
                  merged[f] = output.status();
                  if (output.ok()) outputs[f] = *std::move(output);
                }
              });
  for (const Status& status : merged) TFLEET_RETURN_IF_ERROR(status);
  return outputs;
}

Status ExampleParser::ParseChunk(const Batch& batch, Chunk* chunk) const {
  chunk->columns.resize(specs_.size());
  for (int64_t i = chunk->begin; i < chunk->end; ++i) {
    TFLEET_RETURN_IF_ERROR(ParseOne(batch, i, chunk));
  }
  return OkStatus();
}

Status ExampleParser::ParseOne(const Batch& batch, int64_t example, Chunk* chunk) const {
  chunk->found.assign(specs_.size(), absl::string_view());
  size_t position = 0;
  // The last of several entries with one key is the one that counts.
  const bool is_well_formed = VisitEntries(
      batch.examples[example], 1, beside_, [&](absl::string_view key, absl::string_view feature) {
        if (position == chunk->guesses.size()) chunk->guesses.emplace_back();
        Chunk::Guess& guess = chunk->guesses[position++];
        if (guess.key != key || guess.key.data() == nullptr) guess = {key, IndexOf(key)};
        if (guess.feature < 0) return;
        const bool is_dense = specs_[guess.feature].kind == FeatureKind::kDense ||
                              specs_[guess.feature].kind == FeatureKind::kPadded;
        if (feature.empty() && is_dense) return;  // as if it weren't there
        // Empty ones are present too, unlike those of null data.
        chunk->found[guess.feature] = feature.data() == nullptr ? absl::string_view("") : feature;
      });
  if (!is_well_formed) {
    return InvalidArgument("Could not parse example input, value: '",
                           absl::CHexEscape(batch.examples[example].substr(0, kShownBytes)), "'");
  }
  for (size_t f = 0; f < specs_.size(); ++f) {
    const absl::string_view bytes = chunk->found[f];
    TFLEET_RETURN_IF_ERROR(bytes.data() == nullptr ? TakeMissing(batch, example, f, chunk)
                                                   : TakeFeature(batch, example, f, bytes, chunk));
    if (specs_[f].kind != FeatureKind::kDense) chunk->columns[f].EndRow();
  }
  return OkStatus();
}

Status ExampleParser::TakeFeature(const Batch& batch, int64_t example, size_t feature,
                                  absl::string_view bytes, Chunk* chunk) const {
  const FeatureSpec& spec = specs_[feature];
  const auto error = [&](const auto&... what) {
    return InvalidArgument("Name: ", NameOf(batch.names, example), ", Key: ", spec.key,
                           ", Index: ", example, ".  ", what...);
  };
  TFLEET_ASSIGN_OR_RETURN(const FeatureView view, ViewFeature(bytes));
  if (view.type == DType::kInvalid) return OkStatus();  // a feature without values
  if (view.type != spec.type) {
    return error("Data types don't match. Data type: ", DTypeName(view.type),
                 " but expected type: ", DTypeName(spec.type));
  }
  constexpr char kMalformed[] = "Can't parse serialized Example.";
  if (spec.kind == FeatureKind::kDense) {
    int64_t count = 0;
    if (!CopyFeature(view, spec.stride, &(*batch.outputs)[feature].values, example * spec.stride,
                     &count)) {
      return error(kMalformed);
    }
    if (count == spec.stride) return OkStatus();
    return error("Number of ", ListName(spec.type), " values != expected.  Values size: ", count,
                 " but output shape: ", spec.shape.ToString());
  }
  FeatureColumn& column = chunk->columns[feature];
  const int64_t before = column.size();
  if (!column.Append(view)) return error(kMalformed);
  const int64_t count = column.size() - before;
  if (spec.kind == FeatureKind::kPadded && count % spec.stride != 0) {
    return error("Number of ", ListName(spec.type),
                 " values is not a multiple of stride length. Saw ", count,
                 " values but output shape is: ", spec.shape.ToString());
  }
  return OkStatus();
}

Status ExampleParser::TakeMissing(const Batch& batch, int64_t example, size_t feature,
                                  Chunk* chunk) const {
  const FeatureSpec& spec = specs_[feature];
  if (spec.kind != FeatureKind::kDense) return OkStatus();
  if (spec.fallback.num_elements() == 0) {
    return InvalidArgument("Name: ", NameOf(batch.names, example), ", Feature: ", spec.key,
                           " (data type: ", DTypeName(spec.type),
                           ") is required but could not be found.");
  }
  Tensor& out = (*batch.outputs)[feature].values;
  CopyElements(spec.type, MutableElementAt(out, example * spec.stride), spec.fallback.raw(),
               spec.stride);
  return OkStatus();
}

}  // namespace tensorfleet::cpu
