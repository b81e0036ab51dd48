#include "runtime/kernels/cpu/training/apply_kernel.h"

#include <array>

#include <Eigen/Core>

#include "absl/strings/match.h"
#include "runtime/kernels/cpu/elementwise.h"
#include "runtime/kernels/row_indices.h"

namespace tensorfleet::cpu {
namespace {

StatusOr<std::complex<double>> ScalarValue(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kFloat:
      return t.scalar<float>();
    case DType::kDouble:
      return t.scalar<double>();
    case DType::kHalf:
      return static_cast<float>(t.scalar<Eigen::half>());
    case DType::kBFloat16:
      return static_cast<float>(t.scalar<Eigen::bfloat16>());
    case DType::kInt64:
      return static_cast<double>(t.scalar<int64_t>());
    case DType::kComplex64:
      return std::complex<double>(t.scalar<std::complex<float>>());
    case DType::kComplex128:
      return t.scalar<std::complex<double>>();
    default:
      return InvalidArgument("an optimizer's scalar cannot be of type ", DTypeName(t.dtype()));
  }
}

// The proximal and the sparse FTRL steps take no hyperparameter that would turn them round, as
// TensorFlow's do. NaN is on neither side of zero.
Status CheckSign(const std::string& name, double value, bool may_lr_be_zero) {
  const auto refuse = [&](const char* what) { return InvalidArgument(name, what, ": []"); };
  if (name == "lr" && !(value > 0 || (value == 0 && may_lr_be_zero))) {
    return refuse(" is not a positive scalar");
  }
  if (name == "lr_power" && !(value <= 0)) return refuse(" is not a non-positive scalar");
  if ((name == "l1" || name == "l2") && !(value >= 0)) {
    return refuse(" regularization strength is not a non-negative scalar");
  }
  if (name == "l2_shrinkage" && !(value >= 0)) return refuse(" is not a non-negative scalar");
  return OkStatus();
}

}  // namespace

ApplyKernel::ApplyKernel(KernelInit& init, int num_variables, ApplyLoop loop, DType dtype,
                         int ns_per_kilo)
    : variables_(init, num_variables),
      num_variables_(num_variables),
      loop_(loop),
      dtype_(dtype),
      ns_per_kilo_(ns_per_kilo) {
  for (const ArgSpec& arg : init.node().schema().inputs) names_.push_back(arg.name);
  for (int i = num_variables; i < static_cast<int>(names_.size()); ++i) {
    if (names_[i] == "grad" || names_[i] == "delta") {
      grad_ = i;
    } else if (names_[i] == "indices") {
      indices_ = i;
    } else {
      scalars_.push_back(i);
    }
  }
  TFLEET_CHECK(grad_ >= 0 && scalars_.size() <= kMaxScalars);
  const std::string& op = init.node().op();
  checks_signs_ =
      absl::StrContains(op, "ApplyProximalAdagrad") || absl::StrContains(op, "SparseApplyFtrl");
  may_lr_be_zero_ = GetAttrOr<bool>(init.def(), "multiply_linear_by_lr", false).value_or(false);
}

Status ApplyKernel::Compute(KernelContext& ctx) const {
  std::array<ApplyScalar, kMaxScalars> scalars;
  TFLEET_RETURN_IF_ERROR(ReadScalars(ctx, scalars.data()));
  VariableUpdate update;
  const Status locked = update.Lock(ctx, variables_, num_variables_, dtype_);
  if (absl::IsNotFound(locked)) {
    for (int i = 0; i < num_variables_; ++i) {
      if (!variables_.Get(ctx, i).ok()) return VariableNotFound(ctx, i);
    }
  }
  TFLEET_RETURN_IF_ERROR(locked);
  TFLEET_RETURN_IF_ERROR(CheckShapes(ctx, update));
  TFLEET_RETURN_IF_ERROR(indices_ < 0 ? ApplyDense(ctx, scalars.data(), update)
                                      : ApplySparse(ctx, scalars.data(), update));
  variables_.ForwardRef(ctx);
  return OkStatus();
}

Status ApplyKernel::ReadScalars(const KernelContext& ctx, ApplyScalar* scalars) const {
  for (size_t k = 0; k < scalars_.size(); ++k) {
    const Tensor& t = ctx.input(scalars_[k]);
    if (t.rank() != 0) {
      return InvalidArgument(InputName(scalars_[k]), " is not a scalar: ", t.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(scalars[k].value, ScalarValue(t));
    if (checks_signs_) {
      TFLEET_RETURN_IF_ERROR(
          CheckSign(InputName(scalars_[k]), scalars[k].value.real(), may_lr_be_zero_));
    }
  }
  return OkStatus();
}

Status ApplyKernel::CheckShapes(const KernelContext& ctx, const VariableUpdate& update) const {
  const Shape& var = update.value(0).shape();
  for (int i = 1; i < num_variables_; ++i) {
    if (update.value(i).shape() != var) {
      return InvalidArgument("var and ", InputName(i), " do not have the same shape",
                             var.ToString(), " ", update.value(i).shape().ToString());
    }
  }
  const Tensor& grad = ctx.input(grad_);
  if (indices_ < 0) {
    if (grad.shape() == var) return OkStatus();
    return InvalidArgument("var and ", InputName(grad_), " do not have the same shape",
                           var.ToString(), " ", grad.shape().ToString());
  }
  const Tensor& indices = ctx.input(indices_);
  if (var.rank() < 1) return InvalidArgument("var must be at least 1 dimensional");
  if (indices.rank() != 1) return InvalidArgument("indices must be one-dimensional");
  if (grad.rank() != var.rank()) {
    return InvalidArgument("var and grad must have the same rank, got ", var.ToString(), " and ",
                           grad.shape().ToString());
  }
  for (int d = 1; d < var.rank(); ++d) {
    if (grad.dim(d) != var.dim(d)) {
      return InvalidArgument("var and grad must match in dimension ", d);
    }
  }
  if (grad.dim(0) != indices.dim(0)) {
    return InvalidArgument("grad must be the same size as indices in the first dimension.");
  }
  return OkStatus();
}

Status ApplyKernel::ApplyDense(KernelContext& ctx, const ApplyScalar* scalars,
                               VariableUpdate& update) const {
  TFLEET_RETURN_IF_ERROR(update.PrepareElementwise());
  const int64_t size = static_cast<int64_t>(ElementSize(dtype_));
  const char* grad = static_cast<const char*>(ctx.input(grad_).raw());
  const auto run = [&](int64_t begin, int64_t end) {
    std::array<const void*, VariableUpdate::kMaxVariables> old;
    std::array<void*, VariableUpdate::kMaxVariables> out;
    for (int k = 0; k < num_variables_; ++k) {
      old[k] = static_cast<const char*>(update.value(k).raw()) + begin * size;
      out[k] = static_cast<char*>(update.raw_target(k)) + begin * size;
    }
    loop_(scalars, old.data(), out.data(), grad + begin * size, end - begin);
  };
  const int64_t n = update.value(0).num_elements();
  if (n > 0 && n <= kInlineElements) {
    run(0, n);
  } else {
    constexpr int64_t kBlock = 1024;
    ParallelForWhole(ctx, (n + kBlock - 1) / kBlock, ns_per_kilo_, [&](int64_t begin, int64_t end) {
      run(begin * kBlock, std::min(end * kBlock, n));
    });
  }
  update.Commit();
  return OkStatus();
}

Status ApplyKernel::ApplySparse(KernelContext& ctx, const ApplyScalar* scalars,
                                VariableUpdate& update) const {
  const Tensor& grad = ctx.input(grad_);
  const int64_t num_rows = update.value(0).dim(0);
  TFLEET_ASSIGN_OR_RETURN(const RowIndices rows, RowIndices::Read(ctx.input(indices_), num_rows));
  if (grad.num_elements() == 0) return OkStatus();
  const int64_t row_elements = grad.num_elements() / grad.dim(0);
  const int64_t row_bytes = row_elements * static_cast<int64_t>(ElementSize(dtype_));
  for (int k = 0; k < num_variables_; ++k) {
    TFLEET_RETURN_IF_ERROR(update.PrepareRows(k, rows, row_bytes));
  }
  const char* grads = static_cast<const char*>(grad.raw());
  std::array<char*, VariableUpdate::kMaxVariables> base{};
  for (int k = 0; k < num_variables_; ++k) base[k] = static_cast<char*>(update.raw_target(k));
  const auto apply = [&](int64_t i, int64_t row) {
    std::array<void*, VariableUpdate::kMaxVariables> out;
    for (int k = 0; k < num_variables_; ++k) out[k] = base[k] + row * row_bytes;
    loop_(scalars, out.data(), out.data(), grads + i * row_bytes, row_elements);
  };
  const auto prefetch = [&](int64_t, int64_t row) {
    for (int k = 0; k < num_variables_; ++k) PrefetchRow(base[k] + row * row_bytes, row_bytes);
  };
  rows.ForEach(ctx, 20 + row_elements * ns_per_kilo_ / 1024, apply, prefetch);
  return OkStatus();
}

}  // namespace tensorfleet::cpu
