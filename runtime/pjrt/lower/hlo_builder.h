// Writes a program for XLA, one instruction after the other. Each function adds one instruction and
// gives its result; shapes of operands must be right (our bug otherwise: lowerings check what comes
// from graphs). Nothing broadcasts by itself, except where a function says so.
#pragma once

#include <functional>
#include <memory>
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
  // Of the program.
  int num_parameters() const { return open_[0]->program_shape().parameters_size(); }
  // Errors: Unimplemented for a type without literals.
  StatusOr<Hlo> Constant(const Tensor& value);
  Hlo Scalar(DType dtype, double value);
  // The number in every element of `shape`.
  Hlo Full(DType dtype, const Shape& shape, double value);
  // The lowest, or highest, value of the type (infinite for floats).
  Hlo Lowest(DType dtype);
  Hlo Highest(DType dtype);
  Hlo Iota(DType dtype, const Shape& shape, int64_t dimension);

  Hlo Unary(const char* opcode, const Hlo& x);
  // Of one type and shape.
  Hlo Binary(const char* opcode, const Hlo& a, const Hlo& b);
  // EQ, NE, LT, LE, GT, GE.
  Hlo Compare(const char* direction, const Hlo& a, const Hlo& b);
  Hlo Select(const Hlo& predicate, const Hlo& on_true, const Hlo& on_false);
  Hlo Convert(const Hlo& x, DType dtype);         // x itself when it has the type
  Hlo BitcastConvert(const Hlo& x, DType dtype);  // of the same size
  Hlo Complex(const Hlo& real, const Hlo& imaginary);
  Hlo Real(const Hlo& x);
  Hlo Imaginary(const Hlo& x);

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

  // For each dimension a place to begin, scalars of one integer type; the box is moved inside x
  // where it is not.
  Hlo DynamicSlice(const Hlo& x, absl::Span<const Hlo> start, Dims sizes);
  Hlo DynamicUpdateSlice(const Hlo& x, const Hlo& update, absl::Span<const Hlo> start);
  // Slices of x by the tuples of `indices` ([..., depth]), which count in dimensions `axes` of x.
  // The result's dimensions are the first `lead` of the indices', the first `outer` of those of x
  // that are not in `axes`, the indices' others, and x's others. Indices outside are moved inside.
  Hlo Gather(const Hlo& x, const Hlo& indices, Dims axes, int64_t lead, int64_t outer);
  // x with the slices x[tuple...], tuples of `indices` ([..., depth]) counting in its first
  // dimensions, combined with `updates` by an opcode, or replaced ("second"). Indices outside
  // change nothing.
  Hlo Scatter(const char* opcode, const Hlo& x, const Hlo& indices, const Hlo& updates,
              bool are_unique = false);
  // Sorts along `dimension`, stably: the first of `operands` gives the order by "LT" or "GT" (NaN
  // as large as can be, and -0 before 0), the others follow.
  std::vector<Hlo> Sort(absl::Span<const Hlo> operands, int64_t dimension, const char* direction);

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

  // Loops and branches. What their functions emit may use the values they are given and nothing
  // from outside. A loop's body is asked before its condition.
  using Values = std::vector<Hlo>;
  StatusOr<Values> While(const Values& initial,
                         const std::function<StatusOr<Hlo>(const Values&)>& condition,
                         const std::function<StatusOr<Values>(const Values&)>& body);
  // By a bool (the first branch is the true one), or by an int32 that counts branches and takes the
  // last for anything else. All give values of the same types and shapes.
  using Branch = std::function<StatusOr<Values>(const Values&)>;
  StatusOr<Values> Conditional(const Hlo& which, const Values& operands,
                               absl::Span<const Branch> branches);

  // A value that is told later, by Keep, and may be used before.
  Hlo Promise(DType dtype, const Shape& shape);
  void Keep(const Hlo& promise, const Hlo& value);

  struct Alias {
    int64_t result;
    int64_t parameter;
  };
  // Ends the program with these results, in a tuple. Serialized. Errors: Aborted when a promise
  // is kept by what depends on it.
  StatusOr<std::string> Finish(absl::Span<const Hlo> results, absl::Span<const Alias> aliases);

 private:
  // Dimensions follow from what a client's graph holds: those of no possible tensor end the step,
  // whose kernel turns the exception into an error, and not the server.
  static Shape ValidOrThrow(StatusOr<Shape> shape);
  hlo::Instruction* Start(const char* opcode, DType dtype, const Shape& shape,
                          std::initializer_list<const Hlo*> operands);
  static Hlo Result(const hlo::Instruction& instruction, DType dtype, const Shape& shape) {
    return {instruction.id(), dtype, shape};
  }

  // Instructions go to the computation that was begun last.
  void Begin(absl::string_view name);
  int64_t End(int64_t root);
  hlo::Computation& current() { return *open_.back(); }
  // Values in a tuple: an instruction of the type of `like`, an operand or `id`, and its parts.
  hlo::Instruction* StartTuple(const char* opcode, const Values& like);
  int64_t Tuple(const Values& values);
  Values Parts(int64_t tuple, const Values& like);
  // The parameter of a computation, a tuple like `like`, in its parts.
  Values TupleParameter(const Values& like);
  // The id of the computation of two scalars that applies `opcode` (or compares, or takes the
  // second).
  int64_t ScalarFunction(const char* opcode, DType dtype);
  Status PutInOrder();

  const int precision_;
  hlo::Module module_;
  std::vector<std::unique_ptr<hlo::Computation>> open_;  // the program's own, and those inside it
  int64_t next_id_ = 1;
  std::string op_, node_;
  absl::flat_hash_map<std::pair<std::string, DType>, int64_t> functions_;
  absl::flat_hash_map<int64_t, int64_t> promises_;  // to what keeps them
};

}  // namespace tensorfleet::pjrt
