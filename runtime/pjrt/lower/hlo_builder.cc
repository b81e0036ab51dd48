#include "runtime/pjrt/lower/hlo_builder.h"

#include <algorithm>
#include <limits>
#include <new>

#include "runtime/base/check.h"
#include "runtime/pjrt/lower/hlo_types.h"

namespace tensorfleet::pjrt {
namespace {

void FillWindow(absl::Span<const WindowAxis> axes, hlo::Window* out) {
  for (const WindowAxis& axis : axes) {
    hlo::WindowDimension* const d = out->add_dimensions();
    d->set_size(axis.size);
    d->set_stride(axis.stride);
    d->set_padding_low(axis.pad_low);
    d->set_padding_high(axis.pad_high);
    d->set_window_dilation(axis.dilation);
    d->set_base_dilation(axis.base_dilation);
    d->set_window_reversal(axis.reversed);
  }
}

DType PartOf(DType dtype) { return dtype == DType::kComplex128 ? DType::kDouble : DType::kFloat; }

}  // namespace

Shape HloBuilder::ValidOrThrow(StatusOr<Shape> shape) {
  if (!shape.ok()) throw std::bad_alloc();
  return *std::move(shape);
}

HloBuilder::HloBuilder(std::string name, int precision) : precision_(precision) {
  module_.set_name(std::move(name));
  module_.set_entry_computation_name("main");
  module_.set_id(1);
  Begin("main");
}

void HloBuilder::SetSource(const std::string& op, const std::string& node) {
  op_ = op;
  node_ = node;
}

hlo::Instruction* HloBuilder::Start(const char* opcode, DType dtype, const Shape& shape,
                                    std::initializer_list<const Hlo*> operands) {
  hlo::Instruction* const out = current().add_instructions();
  out->set_id(next_id_++);
  out->set_name(absl::StrCat(opcode, ".", out->id()));
  out->set_opcode(opcode);
  out->mutable_metadata()->set_op_type(op_);
  out->mutable_metadata()->set_op_name(node_);
  FillShape(dtype, shape, out->mutable_shape());
  for (const Hlo* operand : operands) {
    TFLEET_CHECK(operand->is_valid());
    out->add_operand_ids(operand->id);
  }
  return out;
}

Hlo HloBuilder::Parameter(DType dtype, const Shape& shape) {
  hlo::Instruction* const out = Start("parameter", dtype, shape, {});
  hlo::ProgramShape* const program = current().mutable_program_shape();
  out->set_parameter_number(program->parameters_size());
  if (open_.size() == 1) out->set_name(absl::StrCat("p", out->parameter_number()));
  program->add_parameter_names(out->name());
  *program->add_parameters() = out->shape();
  return Result(*out, dtype, shape);
}

bool HloBuilder::HasType(DType dtype) { return ElementTypeOf(dtype) != 0; }

StatusOr<Hlo> HloBuilder::Constant(const Tensor& value) {
  hlo::Literal literal;
  if (!FillLiteral(value, &literal)) {
    return Unimplemented("constants of type ", DTypeName(value.dtype()), " are not compiled");
  }
  hlo::Instruction* const out = Start("constant", value.dtype(), value.shape(), {});
  *literal.mutable_shape() = out->shape();
  *out->mutable_literal() = std::move(literal);
  return Result(*out, value.dtype(), value.shape());
}

Hlo HloBuilder::Scalar(DType dtype, double value) {
  return Constant(ScalarTensor(dtype, value)).value();
}

Hlo HloBuilder::Full(DType dtype, const Shape& shape, double value) {
  const Hlo scalar = Scalar(dtype, value);
  return shape.is_scalar() ? scalar : Broadcast(scalar, shape, {});
}

Hlo HloBuilder::Lowest(DType dtype) {
  if (IsFloating(dtype)) return Scalar(dtype, -std::numeric_limits<double>::infinity());
  return Constant(FiniteExtreme(dtype, /*is_largest=*/false)).value();
}

Hlo HloBuilder::Highest(DType dtype) {
  if (IsFloating(dtype)) return Scalar(dtype, std::numeric_limits<double>::infinity());
  return Constant(FiniteExtreme(dtype, /*is_largest=*/true)).value();
}

Hlo HloBuilder::Iota(DType dtype, const Shape& shape, int64_t dimension) {
  hlo::Instruction* const out = Start("iota", dtype, shape, {});
  out->add_dimensions(dimension);
  return Result(*out, dtype, shape);
}

Hlo HloBuilder::Unary(const char* opcode, const Hlo& x) {
  DType dtype = x.dtype;
  if (absl::string_view(opcode) == "is-finite") dtype = DType::kBool;
  if (IsComplex(dtype) && absl::string_view(opcode) == "abs") dtype = PartOf(dtype);
  return Result(*Start(opcode, dtype, x.shape, {&x}), dtype, x.shape);
}

Hlo HloBuilder::Binary(const char* opcode, const Hlo& a, const Hlo& b) {
  TFLEET_CHECK(a.dtype == b.dtype && a.shape == b.shape);
  return Result(*Start(opcode, a.dtype, a.shape, {&a, &b}), a.dtype, a.shape);
}

Hlo HloBuilder::Compare(const char* direction, const Hlo& a, const Hlo& b) {
  TFLEET_CHECK(a.dtype == b.dtype && a.shape == b.shape);
  hlo::Instruction* const out = Start("compare", DType::kBool, a.shape, {&a, &b});
  out->set_comparison_direction(direction);
  out->set_comparison_type(ComparisonType(a.dtype));
  return Result(*out, DType::kBool, a.shape);
}

Hlo HloBuilder::Select(const Hlo& predicate, const Hlo& on_true, const Hlo& on_false) {
  TFLEET_CHECK(predicate.shape == on_true.shape && on_true.shape == on_false.shape &&
               on_true.dtype == on_false.dtype);
  return Result(*Start("select", on_true.dtype, on_true.shape, {&predicate, &on_true, &on_false}),
                on_true.dtype, on_true.shape);
}

Hlo HloBuilder::Convert(const Hlo& x, DType dtype) {
  if (x.dtype == dtype) return x;
  return Result(*Start("convert", dtype, x.shape, {&x}), dtype, x.shape);
}

Hlo HloBuilder::BitcastConvert(const Hlo& x, DType dtype) {
  TFLEET_CHECK(ElementSize(x.dtype) == ElementSize(dtype));
  return Result(*Start("bitcast-convert", dtype, x.shape, {&x}), dtype, x.shape);
}

Hlo HloBuilder::Complex(const Hlo& real, const Hlo& imaginary) {
  const DType dtype = real.dtype == DType::kDouble ? DType::kComplex128 : DType::kComplex64;
  return Result(*Start("complex", dtype, real.shape, {&real, &imaginary}), dtype, real.shape);
}

Hlo HloBuilder::Real(const Hlo& x) {
  return Result(*Start("real", PartOf(x.dtype), x.shape, {&x}), PartOf(x.dtype), x.shape);
}

Hlo HloBuilder::Imaginary(const Hlo& x) {
  return Result(*Start("imag", PartOf(x.dtype), x.shape, {&x}), PartOf(x.dtype), x.shape);
}

Hlo HloBuilder::Broadcast(const Hlo& x, const Shape& shape, Dims dims) {
  hlo::Instruction* const out = Start("broadcast", x.dtype, shape, {&x});
  out->mutable_dimensions()->Add(dims.begin(), dims.end());
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::BroadcastTo(const Hlo& x, const Shape& shape) {
  if (x.shape == shape) return x;
  // Dimensions of size 1 that are repeated have to go first.
  std::vector<int64_t> kept, dims;
  const int lead = shape.rank() - x.shape.rank();
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (x.shape.dim(i) != shape.dim(lead + i)) continue;
    kept.push_back(x.shape.dim(i));
    dims.push_back(lead + i);
  }
  return Broadcast(Reshape(x, ValidOrThrow(Shape::Make(kept))), shape, dims);
}

Hlo HloBuilder::Reshape(const Hlo& x, const Shape& shape) {
  if (x.shape == shape) return x;
  TFLEET_CHECK(x.shape.num_elements() == shape.num_elements());
  return Result(*Start("reshape", x.dtype, shape, {&x}), x.dtype, shape);
}

Hlo HloBuilder::Transpose(const Hlo& x, Dims permutation) {
  std::vector<int64_t> dims;
  bool is_same = true;
  for (size_t i = 0; i < permutation.size(); ++i) {
    dims.push_back(x.shape.dim(static_cast<int>(permutation[i])));
    is_same &= permutation[i] == static_cast<int64_t>(i);
  }
  if (is_same) return x;
  const Shape shape = ValidOrThrow(Shape::Make(dims));
  hlo::Instruction* const out = Start("transpose", x.dtype, shape, {&x});
  out->mutable_dimensions()->Add(permutation.begin(), permutation.end());
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::Reverse(const Hlo& x, Dims dims) {
  if (dims.empty()) return x;
  hlo::Instruction* const out = Start("reverse", x.dtype, x.shape, {&x});
  out->mutable_dimensions()->Add(dims.begin(), dims.end());
  return Result(*out, x.dtype, x.shape);
}

Hlo HloBuilder::Slice(const Hlo& x, Dims start, Dims limit, Dims stride) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < start.size(); ++i) {
    dims.push_back((limit[i] - start[i] + stride[i] - 1) / stride[i]);
  }
  const Shape shape = ValidOrThrow(Shape::Make(dims));
  hlo::Instruction* const out = Start("slice", x.dtype, shape, {&x});
  for (size_t i = 0; i < start.size(); ++i) {
    hlo::SliceDimension* const d = out->add_slice_dimensions();
    d->set_start(start[i]);
    d->set_limit(limit[i]);
    d->set_stride(stride[i]);
  }
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::Pad(const Hlo& x, const Hlo& value, absl::Span<const PadAxis> padding) {
  std::vector<int64_t> dims;
  for (int i = 0; i < x.shape.rank(); ++i) {
    const int64_t n = x.shape.dim(i);
    dims.push_back(n + padding[i].low + padding[i].high +
                   (n > 0 ? (n - 1) * padding[i].interior : 0));
  }
  const Shape shape = ValidOrThrow(Shape::Make(dims));
  hlo::Instruction* const out = Start("pad", x.dtype, shape, {&x, &value});
  for (const PadAxis& axis : padding) {
    hlo::PaddingDimension* const d = out->mutable_padding()->add_dimensions();
    d->set_low(axis.low);
    d->set_high(axis.high);
    d->set_interior(axis.interior);
  }
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::Concat(absl::Span<const Hlo> parts, int64_t dimension) {
  int64_t size = 0;
  for (const Hlo& part : parts) size += part.shape.dim(static_cast<int>(dimension));
  const Shape shape = ValidOrThrow(parts[0].shape.WithDim(static_cast<int>(dimension), size));
  hlo::Instruction* const out = Start("concatenate", parts[0].dtype, shape, {});
  for (const Hlo& part : parts) out->add_operand_ids(part.id);
  out->add_dimensions(dimension);
  return Result(*out, parts[0].dtype, shape);
}

Hlo HloBuilder::Reduce(const char* opcode, const Hlo& x, const Hlo& initial, Dims dims) {
  if (dims.empty()) return x;
  std::vector<int64_t> kept;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) kept.push_back(x.shape.dim(i));
  }
  const Shape shape = ValidOrThrow(Shape::Make(kept));
  const int64_t function = ScalarFunction(opcode, x.dtype);
  hlo::Instruction* const out = Start("reduce", x.dtype, shape, {&x, &initial});
  out->mutable_dimensions()->Add(dims.begin(), dims.end());
  out->add_called_computation_ids(function);
  return Result(*out, x.dtype, shape);
}

Hlo HloBuilder::ReduceWindow(const char* opcode, const Hlo& x, const Hlo& initial,
                             absl::Span<const WindowAxis> window, const Shape& result) {
  const int64_t function = ScalarFunction(opcode, x.dtype);
  hlo::Instruction* const out = Start("reduce-window", x.dtype, result, {&x, &initial});
  FillWindow(window, out->mutable_window());
  out->add_called_computation_ids(function);
  return Result(*out, x.dtype, result);
}

Hlo HloBuilder::SelectAndScatterMax(const Hlo& operand, const Hlo& source,
                                    absl::Span<const WindowAxis> window) {
  const Hlo zero = Scalar(operand.dtype, 0);
  const int64_t select = ScalarFunction("ge", operand.dtype);
  const int64_t scatter = ScalarFunction("add", operand.dtype);
  hlo::Instruction* const out =
      Start("select-and-scatter", operand.dtype, operand.shape, {&operand, &source, &zero});
  FillWindow(window, out->mutable_window());
  out->add_called_computation_ids(select);
  out->add_called_computation_ids(scatter);
  return Result(*out, operand.dtype, operand.shape);
}

Hlo HloBuilder::Dot(const Hlo& a, const Hlo& b, const hlo::DotDimensions& dims, const Shape& result,
                    DType dtype) {
  hlo::Instruction* const out = Start("dot", dtype, result, {&a, &b});
  *out->mutable_dot_dimensions() = dims;
  for (int i = 0; i < 2; ++i) out->mutable_precision()->add_operand(precision_);
  return Result(*out, dtype, result);
}

Hlo HloBuilder::Convolution(const Hlo& input, const Hlo& kernel,
                            absl::Span<const WindowAxis> window,
                            const hlo::ConvolutionDimensions& dims, int64_t feature_groups,
                            int64_t batch_groups, const Shape& result) {
  hlo::Instruction* const out = Start("convolution", input.dtype, result, {&input, &kernel});
  FillWindow(window, out->mutable_window());
  *out->mutable_convolution_dimensions() = dims;
  out->set_feature_group_count(feature_groups);
  out->set_batch_group_count(batch_groups);
  for (int i = 0; i < 2; ++i) out->mutable_precision()->add_operand(precision_);
  return Result(*out, input.dtype, result);
}

}  // namespace tensorfleet::pjrt
