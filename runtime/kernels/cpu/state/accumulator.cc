#include "runtime/kernels/cpu/state/accumulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// value[i] /= by, for n elements.
void Divide(DType dtype, void* values, int64_t n, int64_t by) {
  ForEachType(Types<Eigen::half, float, double>(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kDTypeOf<T> != dtype) return;
    T* const v = static_cast<T*>(values);
    for (int64_t i = 0; i < n; ++i) v[i] = v[i] / static_cast<T>(static_cast<double>(by));
  });
}

constexpr char kTakeCancelled[] = "TakeGrad operation was cancelled";

}  // namespace

int64_t Accumulator::num_accumulated() const {
  MutexLock lock(&mu_);
  return count_;
}

void Accumulator::SetGlobalStep(int64_t step) {
  MutexLock lock(&mu_);
  if (step < global_step_) {
    LogWarning("an accumulator's global step is set back",
               {{"accumulator", spec_.name}, {"from", global_step_}, {"to", step}});
  }
  global_step_ = step;
}

Status Accumulator::Accept(int64_t local_step, absl::FunctionRef<Status()> add) {
  const ResourceRef<Accumulator> self(this);  // a callback may drop the last other reference
  std::vector<Attempt> finished;
  {
    MutexLock lock(&mu_);
    if (local_step < global_step_) return OkStatus();
    TFLEET_RETURN_IF_ERROR(add());
    ++count_;
    Flush(&finished);
  }
  CallFinished(std::move(finished), /*own=*/0);
  return OkStatus();
}

void Accumulator::Take(int64_t num_required, const Caller& caller, TakeDone done) {
  const ResourceRef<Accumulator> self(this);
  uint64_t id = 0;
  std::vector<Attempt> finished;
  {
    MutexLock lock(&mu_);
    id = next_id_++;
    attempts_.push_back({id, num_required, caller, -1, std::move(done), {}, {}});
    Flush(&finished);
    if (!attempts_.empty() && attempts_.back().id == id && caller.cancellation != nullptr) {
      // Not finished before the lock is let go, so the caller's cancellation manager is still
      // there.
      Attempt& waiting = attempts_.back();
      waiting.token = caller.cancellation->Register([self, id] { self->Cancel(id); });
      if (waiting.token < 0) {
        waiting.status = Cancelled(kTakeCancelled);
        finished.push_back(std::move(waiting));
        attempts_.pop_back();
      }
    }
  }
  CallFinished(std::move(finished), id);
}

void Accumulator::Flush(std::vector<Attempt>* finished) {
  while (!attempts_.empty() && count_ >= attempts_.front().num_required) {
    Attempt attempt = std::move(attempts_.front());
    attempts_.pop_front();
    StatusOr<std::vector<Tensor>> taken = TakeAll(count_);
    if (taken.ok()) {
      attempt.taken = *std::move(taken);
    } else {
      attempt.status = taken.status();
    }
    count_ = 0;
    ++global_step_;
    finished->push_back(std::move(attempt));
  }
}

void Accumulator::Cancel(uint64_t id) {
  std::vector<Attempt> finished;
  {
    MutexLock lock(&mu_);
    const auto it = std::find_if(attempts_.begin(), attempts_.end(),
                                 [id](const Attempt& attempt) { return attempt.id == id; });
    if (it == attempts_.end()) return;
    finished.push_back(std::move(*it));
    finished.back().status = Cancelled(kTakeCancelled);
    attempts_.erase(it);
    Flush(&finished);  // one that needs fewer may have waited behind it
  }
  CallFinished(std::move(finished), id);
}

void Accumulator::CallFinished(std::vector<Attempt> finished, uint64_t own) {
  for (Attempt& attempt : finished) {
    if (attempt.token >= 0) attempt.caller.cancellation->TryDeregister(attempt.token);
  }
  for (Attempt& attempt : finished) {
    auto call = [done = std::move(attempt.done), status = std::move(attempt.status),
                 taken = std::move(attempt.taken)]() mutable {
      done(std::move(status), std::move(taken));
    };
    // Another's step goes on elsewhere: here steps could nest without end.
    if (attempt.id != own && attempt.caller.pool != nullptr) {
      attempt.caller.pool->Schedule(std::move(call));
    } else {
      call();
    }
  }
}

std::string DenseAccumulator::DebugString() const {
  return absl::StrCat("Accumulator '", spec().name, "' ", DTypeName(spec().dtype), " with ",
                      num_accumulated(), " gradients");
}

Status DenseAccumulator::Apply(const KernelContext& ctx, int64_t local_step, Tensor gradient) {
  if (gradient.dtype() != spec().dtype) {
    return InvalidArgument("Type mismatch: expected ", DTypeName(spec().dtype), ", got ",
                           DTypeName(gradient.dtype()));
  }
  if (!spec().shape.IsCompatibleWith(gradient.shape())) {
    return InvalidArgument("Shape mismatch: expected ", spec().shape.ToString(), ", got ",
                           gradient.shape().ToString());
  }
  return Accept(local_step, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> Status {
    if (count() == 0) {
      if (gradient.buffer_is_unique()) {
        sum_ = std::move(gradient);
        return OkStatus();
      }
      TFLEET_ASSIGN_OR_RETURN(sum_, gradient.Clone());
      return OkStatus();
    }
    if (sum_.shape() != gradient.shape()) {
      return InvalidArgument("Shape mismatch: expected ", sum_.shape().ToString(), ", got ",
                             gradient.shape().ToString());
    }
    RunSumLoop(ctx, add_, sum_.raw(), gradient.raw(), sum_.mutable_raw(), sum_.num_elements(),
               spec().dtype);
    return OkStatus();
  });
}

StatusOr<std::vector<Tensor>> DenseAccumulator::TakeAll(int64_t count) {
  if (spec().takes_mean) Divide(spec().dtype, sum_.mutable_raw(), sum_.num_elements(), count);
  return std::vector<Tensor>{std::exchange(sum_, Tensor())};
}

std::string SparseAccumulator::DebugString() const {
  return absl::StrCat("SparseAccumulator '", spec().name, "' ", DTypeName(spec().dtype), " with ",
                      num_accumulated(), " gradients");
}

Status SparseAccumulator::CheckGradient(const Tensor& indices, const Tensor& values,
                                        absl::Span<const int64_t> shape) const {
  if (values.dtype() != spec().dtype) {
    return InvalidArgument("Type mismatch: expected ", DTypeName(spec().dtype), ", got ",
                           DTypeName(values.dtype()));
  }
  if (indices.rank() != 1) {
    return InvalidArgument("Input indices should be vector but received shape: ",
                           indices.shape().ToString());
  }
  if (values.rank() < 1) return InvalidArgument("Values cannot be 0-dimensional.");
  if (values.dim(0) != indices.dim(0)) {
    return InvalidArgument("Expected ", indices.dim(0), " non-empty input values, got ",
                           values.dim(0));
  }
  const Shape row_shape = values.shape().SubShape(1, values.rank());
  if (count() > 0 && row_shape != row_shape_) {
    return InvalidArgument("Shape mismatch: expected rows of shape ", row_shape_.ToString(),
                           ", got ", row_shape.ToString());
  }
  const PartialShape& whole = spec().shape;
  if (has_shape_) {
    if (whole.rank() != values.rank()) {
      return InvalidArgument("Shape mismatch: expected values rank to be ", whole.rank(), ", got ",
                             values.rank());
    }
    for (int d = 1; d < whole.rank(); ++d) {
      if (whole.has_dim(d) && whole.dim(d) != values.dim(d)) {
        return InvalidArgument("Shape mismatch: expected values dim ", d, " to be ", whole.dim(d),
                               ", got ", values.dim(d));
      }
    }
    if (!shape.empty()) {
      if (static_cast<int>(shape.size()) != whole.rank()) {
        return InvalidArgument("Shape mismatch: expected shape rank ", whole.rank(), ", got ",
                               shape.size());
      }
      for (int d = 0; d < whole.rank(); ++d) {
        if (whole.has_dim(d) && whole.dim(d) != shape[d]) {
          return InvalidArgument("Shape mismatch: expected shape dim ", d, " to be ", whole.dim(d),
                                 ", got ", shape[d]);
        }
      }
    }
  }
  int64_t limit = INT64_MAX;
  if (has_shape_ && whole.has_dim(0)) limit = whole.dim(0);
  if (!shape.empty() && shape[0] >= 0) limit = std::min(limit, shape[0]);
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t row = indices.values<int64_t>()[i];
    if (row < 0 || row >= limit) {
      return InvalidArgument("Shape mismatch: index of slice ", i,
                             " exceeded limits of shape; index is ", row, " exceeded ", limit);
    }
  }
  return OkStatus();
}

Status SparseAccumulator::Add(const Tensor& indices, const Tensor& values) {
  if (count() == 0) row_shape_ = values.shape().SubShape(1, values.rank());
  ++gradient_number_;
  const int64_t row_elements = row_shape_.num_elements();
  const int64_t row_bytes = row_elements * static_cast<int64_t>(ElementSize(spec().dtype));
  const char* const from = static_cast<const char*>(values.raw());
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = indices.values<int64_t>()[i];
    const auto [it, is_new] =
        rows_.try_emplace(index, Row{static_cast<int64_t>(rows_.size()), 0, 0});
    Row& row = it->second;
    if (row.last_gradient != gradient_number_) {
      row.last_gradient = gradient_number_;
      ++row.num_gradients;
    }
    const char* const value = from + i * row_bytes;
    if (is_new) {
      sums_.insert(sums_.end(), value, value + row_bytes);
    } else {
      char* const sum = sums_.data() + row.slot * row_bytes;
      add_(sum, value, sum, row_elements);
    }
  }
  return OkStatus();
}

Status SparseAccumulator::Apply(int64_t local_step, const Tensor& indices, const Tensor& values,
                                absl::Span<const int64_t> shape) {
  return Accept(local_step, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> Status {
    TFLEET_RETURN_IF_ERROR(CheckGradient(indices, values, shape));
    return Add(indices, values);
  });
}

StatusOr<std::vector<Tensor>> SparseAccumulator::TakeAll(int64_t) {
  std::vector<int64_t> order;
  order.reserve(rows_.size());
  for (const auto& [index, row] : rows_) order.push_back(index);
  std::sort(order.begin(), order.end());
  const int64_t n = static_cast<int64_t>(order.size());
  const int64_t row_elements = row_shape_.num_elements();
  const int64_t row_bytes = row_elements * static_cast<int64_t>(ElementSize(spec().dtype));
  TFLEET_ASSIGN_OR_RETURN(const Shape values_shape, row_shape_.Stacked(n));
  TFLEET_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(spec().dtype, values_shape));
  Tensor indices = Tensor::Vector<int64_t>(order);
  char* const to = static_cast<char*>(values.mutable_raw());
  for (int64_t i = 0; i < n && row_bytes > 0; ++i) {
    const Row& row = rows_.at(order[i]);
    std::memcpy(to + i * row_bytes, sums_.data() + row.slot * row_bytes, row_bytes);
    if (spec().takes_mean)
      Divide(spec().dtype, to + i * row_bytes, row_elements, row.num_gradients);
  }
  // The shape as far as it is known; -1 where it is not.
  std::vector<int64_t> whole;
  if (has_shape_) {
    whole.assign(spec().shape.dims().begin(), spec().shape.dims().end());
  } else {
    whole.push_back(-1);
    whole.insert(whole.end(), row_shape_.dims().begin(), row_shape_.dims().end());
  }
  rows_.clear();
  sums_.clear();
  return std::vector<Tensor>{std::move(indices), std::move(values), Tensor::Vector<int64_t>(whole)};
}

}  // namespace tensorfleet::cpu
