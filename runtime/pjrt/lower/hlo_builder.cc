#include "runtime/pjrt/lower/hlo_builder.h"

#include <Eigen/Core>
#include <new>

#include "runtime/base/check.h"

namespace tensorfleet::pjrt {
namespace {

// Dimensions follow from what a client's graph holds: those of no possible tensor end the step,
// whose kernel turns the exception into an error, and not the server.
Shape ValidOrThrow(StatusOr<Shape> shape) {
  if (!shape.ok()) throw std::bad_alloc();
  return *std::move(shape);
}

// 0 for a type that programs do not have.
int ElementTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kInt8:
      return 2;
    case DType::kInt16:
      return 3;
    case DType::kInt32:
      return 4;
    case DType::kInt64:
      return 5;
    case DType::kUInt8:
      return 6;
    case DType::kUInt16:
      return 7;
    case DType::kUInt32:
      return 8;
    case DType::kUInt64:
      return 9;
    case DType::kHalf:
      return 10;
    case DType::kFloat:
      return 11;
    case DType::kDouble:
      return 12;
    case DType::kBFloat16:
      return 16;
    default:
      return 0;
  }
}
constexpr int kTuple = 13;

void FillShape(DType dtype, const Shape& shape, hlo::Shape* out) {
  TFLEET_CHECK(HloBuilder::HasType(dtype));
  out->set_element_type(ElementTypeOf(dtype));
  for (int i = 0; i < shape.rank(); ++i) {
    out->add_dimensions(shape.dim(i));
    out->mutable_layout()->add_minor_to_major(shape.rank() - 1 - i);
  }
  out->mutable_layout();
}

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

template <typename T, typename Field>
void FillRepeated(const Tensor& value, Field* field) {
  const absl::Span<const T> values = value.values<T>();
  field->Add(values.begin(), values.end());
}

// False for a type without literals.
bool FillLiteral(const Tensor& value, hlo::Literal* out) {
  const std::string bytes(static_cast<const char*>(value.raw()), value.bytes());
  switch (value.dtype()) {
    case DType::kBool:
      FillRepeated<bool>(value, out->mutable_preds());
      return true;
    case DType::kInt32:
      FillRepeated<int32_t>(value, out->mutable_s32s());
      return true;
    case DType::kInt64:
      FillRepeated<int64_t>(value, out->mutable_s64s());
      return true;
    case DType::kUInt32:
      FillRepeated<uint32_t>(value, out->mutable_u32s());
      return true;
    case DType::kUInt64:
      FillRepeated<uint64_t>(value, out->mutable_u64s());
      return true;
    case DType::kFloat:
      FillRepeated<float>(value, out->mutable_f32s());
      return true;
    case DType::kDouble:
      FillRepeated<double>(value, out->mutable_f64s());
      return true;
    case DType::kInt8:
      out->set_s8s(bytes);
      return true;
    case DType::kUInt8:
      out->set_u8s(bytes);
      return true;
    case DType::kInt16:
      out->set_s16s(bytes);
      return true;
    case DType::kUInt16:
      out->set_u16s(bytes);
      return true;
    case DType::kHalf:
      out->set_f16s(bytes);
      return true;
    case DType::kBFloat16:
      out->set_bf16s(bytes);
      return true;
    default:
      return false;
  }
}

template <typename T>
Tensor ScalarOf(double value) {
  return Tensor::Scalar<T>(static_cast<T>(value));
}

Tensor ScalarTensor(DType dtype, double value) {
  switch (dtype) {
    case DType::kBool:
      return Tensor::Scalar<bool>(value != 0);
    case DType::kInt8:
      return ScalarOf<int8_t>(value);
    case DType::kInt16:
      return ScalarOf<int16_t>(value);
    case DType::kInt32:
      return ScalarOf<int32_t>(value);
    case DType::kInt64:
      return ScalarOf<int64_t>(value);
    case DType::kUInt8:
      return ScalarOf<uint8_t>(value);
    case DType::kUInt16:
      return ScalarOf<uint16_t>(value);
    case DType::kUInt32:
      return ScalarOf<uint32_t>(value);
    case DType::kUInt64:
      return ScalarOf<uint64_t>(value);
    case DType::kHalf:
      return Tensor::Scalar<Eigen::half>(Eigen::half(static_cast<float>(value)));
    case DType::kBFloat16:
      return Tensor::Scalar<Eigen::bfloat16>(Eigen::bfloat16(static_cast<float>(value)));
    case DType::kFloat:
      return ScalarOf<float>(value);
    default:
      TFLEET_CHECK(dtype == DType::kDouble);
      return ScalarOf<double>(value);
  }
}

const char* ComparisonType(DType dtype) {
  if (IsFloating(dtype)) return "FLOAT";
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
      return "UNSIGNED";
    default:
      return "SIGNED";
  }
}

}  // namespace

HloBuilder::HloBuilder(std::string name, int precision) : precision_(precision) {
  module_.set_name(std::move(name));
  module_.set_entry_computation_name("main");
  module_.set_id(1);
  entry_.set_name("main");
}

void HloBuilder::SetSource(const std::string& op, const std::string& node) {
  op_ = op;
  node_ = node;
}

hlo::Instruction* HloBuilder::Start(const char* opcode, DType dtype, const Shape& shape,
                                    std::initializer_list<const Hlo*> operands) {
  hlo::Instruction* const out = entry_.add_instructions();
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
  hlo::ProgramShape* const program = entry_.mutable_program_shape();
  out->set_parameter_number(program->parameters_size());
  out->set_name(absl::StrCat("p", out->parameter_number()));
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

Hlo HloBuilder::Iota(DType dtype, const Shape& shape, int64_t dimension) {
  hlo::Instruction* const out = Start("iota", dtype, shape, {});
  out->add_dimensions(dimension);
  return Result(*out, dtype, shape);
}

Hlo HloBuilder::Unary(const char* opcode, const Hlo& x) {
  const DType dtype = absl::string_view(opcode) == "is-finite" ? DType::kBool : x.dtype;
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

int64_t HloBuilder::ScalarFunction(const char* opcode, DType dtype) {
  const auto [it, is_new] = functions_.try_emplace({opcode, dtype}, 0);
  if (!is_new) return it->second;
  hlo::Computation* const function = module_.add_computations();
  function->set_id(it->second = next_id_++);
  function->set_name(absl::StrCat(opcode, "_", DTypeName(dtype)));
  hlo::Shape scalar;
  FillShape(dtype, Shape(), &scalar);
  int64_t operands[2];
  for (int i = 0; i < 2; ++i) {
    hlo::Instruction* const parameter = function->add_instructions();
    parameter->set_id(operands[i] = next_id_++);
    parameter->set_name(absl::StrCat("x", parameter->id()));
    parameter->set_opcode("parameter");
    parameter->set_parameter_number(i);
    *parameter->mutable_shape() = scalar;
    *function->mutable_program_shape()->add_parameters() = scalar;
    function->mutable_program_shape()->add_parameter_names(parameter->name());
  }
  hlo::Instruction* const result = function->add_instructions();
  result->set_id(next_id_++);
  result->set_name(absl::StrCat("r", result->id()));
  *result->mutable_shape() = scalar;
  if (absl::string_view(opcode) == "ge") {
    result->set_opcode("compare");
    result->set_comparison_direction("GE");
    result->set_comparison_type(ComparisonType(dtype));
    FillShape(DType::kBool, Shape(), (result->clear_shape(), result->mutable_shape()));
  } else {
    result->set_opcode(opcode);
  }
  for (const int64_t operand : operands) result->add_operand_ids(operand);
  *function->mutable_program_shape()->mutable_result() = result->shape();
  function->set_root_id(result->id());
  return it->second;
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

std::string HloBuilder::Finish(absl::Span<const Hlo> results, absl::Span<const Alias> aliases) {
  hlo::Instruction* const root = entry_.add_instructions();
  root->set_id(next_id_++);
  root->set_name("results");
  root->set_opcode("tuple");
  root->mutable_shape()->set_element_type(kTuple);
  for (const Hlo& result : results) {
    FillShape(result.dtype, result.shape, root->mutable_shape()->add_tuple_shapes());
    root->add_operand_ids(result.id);
  }
  entry_.set_root_id(root->id());
  entry_.set_id(next_id_++);
  *entry_.mutable_program_shape()->mutable_result() = root->shape();
  for (const Alias& alias : aliases) {
    hlo::Aliases::Entry* const entry = module_.mutable_aliases()->add_entries();
    entry->add_output_index(alias.result);
    entry->set_parameter_number(alias.parameter);
    entry->set_kind(1);
  }
  module_.set_entry_computation_id(entry_.id());
  *module_.mutable_program_shape() = entry_.program_shape();
  *module_.add_computations() = entry_;
  return module_.SerializeAsString();
}

}  // namespace tensorfleet::pjrt
