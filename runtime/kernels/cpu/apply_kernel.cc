#include "runtime/kernels/cpu/apply_kernel.h"

#include <array>

#include <Eigen/Core>

#include "runtime/kernels/cpu/row_indices.h"

namespace tensorfleet::cpu {
namespace {

constexpr int64_t kInlineElements = 8192;

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

}  // namespace

ApplyKernel::ApplyKernel(KernelInit& init, int num_variables, ApplyLoop loop, DType dtype,
                         int ns_per_element)
    : variables_(init, num_variables),
      num_variables_(num_variables),
      loop_(loop),
      dtype_(dtype),
      ns_per_element_(ns_per_element) {
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
  if (n <= kInlineElements) {
    if (n > 0) run(0, n);
  } else {
    ParallelFor(ctx, n, ns_per_element_, run);
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
  rows.ForEach(ctx, row_elements * ns_per_element_, [&](int64_t i, int64_t row) {
    std::array<void*, VariableUpdate::kMaxVariables> out;
    for (int k = 0; k < num_variables_; ++k) {
      out[k] = static_cast<char*>(update.raw_target(k)) + row * row_bytes;
    }
    loop_(scalars, out.data(), out.data(), grads + i * row_bytes, row_elements);
  });
  return OkStatus();
}

}  // namespace tensorfleet::cpu
