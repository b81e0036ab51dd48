// Writes a program for XLA, one instruction after the other. Each function adds one instruction and
// gives its result; shapes of operands must be right (our bug otherwise: lowerings check what comes
// from graphs). Nothing broadcasts by itself, except where a function says so.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "proto/tensorfleet/hlo.pb.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace tensorfleet::pjrt {

// A value of the program: what one instruction gives.
struct Hlo {
  int64_t id = -1;
  DType dtype = DType::kInvalid;
  Shape shape;
  bool is_valid() const { return id >= 0; }
};

using Dims = absl::Span<const int64_t>;

struct WindowAxis {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, dilation = 1, base_dilation = 1;
  bool reversed = false;
};
struct PadAxis {
  int64_t low = 0, high = 0, interior = 0;
};

class HloBuilder {
 public:
  // `precision` of products of floats: 0 as the device likes it (TF32 on NVIDIA's), 2 the highest.
  explicit HloBuilder(std::string name, int precision = 0);

  // For the instructions that follow: which node they come from.
  void SetSource(const std::string& op, const std::string& node);

  // Whether programs have values of that type: the functions that make some take no other.
  static bool HasType(DType dtype);

  // The next parameter.
  Hlo Parameter(DType dtype, const Shape& shape);
  int num_parameters() const { return entry_.program_shape().parameters_size(); }
  // Errors: Unimplemented for a type without literals.
  StatusOr<Hlo> Constant(const Tensor& value);
  Hlo Scalar(DType dtype, double value);
  // The number in every element of `shape`.
  Hlo Full(DType dtype, const Shape& shape, double value);
  Hlo Iota(DType dtype, const Shape& shape, int64_t dimension);

  Hlo Unary(const char* opcode, const Hlo& x);
  // Of one type and shape.
  Hlo Binary(const char* opcode, const Hlo& a, const Hlo& b);
  // EQ, NE, LT, LE, GT, GE.
  Hlo Compare(const char* direction, const Hlo& a, const Hlo& b);
  Hlo Select(const Hlo& predicate, const Hlo& on_true, const Hlo& on_false);
  Hlo Convert(const Hlo& x, DType dtype);  // x itself when it has the type

  // Dimension i of x becomes dimension dims[i] of the result.
  Hlo Broadcast(const Hlo& x, const Shape& shape, Dims dims);
  // By the usual rules: aligned at the end, 1 repeats. `shape` must be one that x broadcasts to.
  Hlo BroadcastTo(const Hlo& x, const Shape& shape);
  Hlo Reshape(const Hlo& x, const Shape& shape);
  Hlo Transpose(const Hlo& x, Dims permutation);
  Hlo Reverse(const Hlo& x, Dims dims);
  Hlo Slice(const Hlo& x, Dims start, Dims limit, Dims stride);
  Hlo Pad(const Hlo& x, const Hlo& value, absl::Span<const PadAxis> padding);
  Hlo Concat(absl::Span<const Hlo> parts, int64_t dimension);

  // By "add", "multiply", "maximum", "minimum", "and", "or"; `initial` is a scalar of x's type.
  Hlo Reduce(const char* opcode, const Hlo& x, const Hlo& initial, Dims dims);
  Hlo ReduceWindow(const char* opcode, const Hlo& x, const Hlo& initial,
                   absl::Span<const WindowAxis> window, const Shape& result);
  // The gradient of max pooling: each source goes to where its window has its (first) maximum.
  Hlo SelectAndScatterMax(const Hlo& operand, const Hlo& source,
                          absl::Span<const WindowAxis> window);
  Hlo Dot(const Hlo& a, const Hlo& b, const hlo::DotDimensions& dims, const Shape& result,
          DType dtype);
  Hlo Convolution(const Hlo& input, const Hlo& kernel, absl::Span<const WindowAxis> window,
                  const hlo::ConvolutionDimensions& dims, int64_t feature_groups,
                  int64_t batch_groups, const Shape& result);

  // Broadcasts both to `shape` first.
  Hlo BinaryBroadcast(const char* opcode, const Hlo& a, const Hlo& b, const Shape& shape) {
    return Binary(opcode, BroadcastTo(a, shape), BroadcastTo(b, shape));
  }
  Hlo Add(const Hlo& a, const Hlo& b) { return Binary("add", a, b); }
  Hlo Sub(const Hlo& a, const Hlo& b) { return Binary("subtract", a, b); }
  Hlo Mul(const Hlo& a, const Hlo& b) { return Binary("multiply", a, b); }
  Hlo Div(const Hlo& a, const Hlo& b) { return Binary("divide", a, b); }
  // With a number in the place of the second operand.
  Hlo Add(const Hlo& a, double b) { return Add(a, Full(a.dtype, a.shape, b)); }
  Hlo Sub(const Hlo& a, double b) { return Sub(a, Full(a.dtype, a.shape, b)); }
  Hlo Mul(const Hlo& a, double b) { return Mul(a, Full(a.dtype, a.shape, b)); }

  struct Alias {
    int64_t result;
    int64_t parameter;
  };
  // Ends the program with these results, in a tuple. Serialized.
  std::string Finish(absl::Span<const Hlo> results, absl::Span<const Alias> aliases);

 private:
  hlo::Instruction* Start(const char* opcode, DType dtype, const Shape& shape,
                          std::initializer_list<const Hlo*> operands);
  static Hlo Result(const hlo::Instruction& instruction, DType dtype, const Shape& shape) {
    return {instruction.id(), dtype, shape};
  }
  // The id of the computation of two scalars that applies `opcode` (or the comparison).
  int64_t ScalarFunction(const char* opcode, DType dtype);

  const int precision_;
  hlo::Module module_;
  hlo::Computation entry_;
  int64_t next_id_ = 1;
  std::string op_, node_;
  absl::flat_hash_map<std::pair<std::string, DType>, int64_t> functions_;
};

}  // namespace tensorfleet::pjrt
