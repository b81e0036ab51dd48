// Fourier transforms over the last one to three dimensions, of complex and of real numbers.
// Schemas: runtime/ops/linalg/fft_ops.cc.
#include <complex>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/linalg/fft_lines.h"
#include "runtime/kernels/cpu/math/axis.h"
#include "runtime/kernels/cpu/scratch.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

template <typename T>
constexpr int kLanesOf = 32 / static_cast<int>(sizeof(T));

// Calls run(lines, elements, scratch) for groups of lines, where `elements` has room for `length`
// elements and `lines` begins at line `first` and has `count`, at most kLanes. Errors:
// ResourceExhausted.
template <typename T, typename Run>
Status ForLines(const KernelContext& ctx, int64_t lines, int64_t length, const FftPlan<T>& plan,
                const Run& run) {
  constexpr int kLanes = kLanesOf<T>;
  const int64_t room =
      (length + plan.scratch()) * static_cast<int64_t>(sizeof(FftElement<T, kLanes>));
  const int64_t groups = (lines + kLanes - 1) / kLanes;
  const int64_t cost = 20 + 4 * length * (4 + 64 - __builtin_clzll(static_cast<uint64_t>(length)));
  return ParallelForWithScratch<char>(
      ctx, groups, cost, room, [&](int64_t begin, int64_t end, char* memory) {
        for (int64_t group = begin; group < end; ++group) {
          const int64_t first = group * kLanes, count = std::min<int64_t>(kLanes, lines - first);
          if (count == 1) {
            auto* const x = reinterpret_cast<FftElement<T, 1>*>(memory);
            run(first, count, x, x + length);
          } else {
            auto* const x = reinterpret_cast<FftElement<T, kLanes>*>(memory);
            run(first, count, x, x + length);
          }
        }
      });
}

// Transforms the lines along one axis in their place.
template <typename T>
Status TransformAxis(const KernelContext& ctx, const Shape& shape, int axis, bool is_inverse,
                     std::complex<T>* data) {
  const AxisView view = ViewAxis(shape, axis);
  if (view.size <= 1) return OkStatus();
  const auto plan = FftPlan<T>::Find(view.size);
  const T scale = is_inverse ? T(1) / static_cast<T>(view.size) : T(1);
  return ForLines<T>(ctx, view.outer * view.inner, view.size, *plan,
                     [&](int64_t first, int64_t count, auto* x, auto* scratch) {
                       constexpr int kLanes = decltype(x->re)::RowsAtCompileTime;
                       std::complex<T>* line[kLanes];
                       for (int64_t i = 0; i < kLanes; ++i) {
                         const int64_t number = first + std::min(i, count - 1);
                         line[i] = data + number / view.inner * view.size * view.inner +
                                   number % view.inner;
                       }
                       for (int64_t j = 0; j < view.size; ++j) {
                         for (int i = 0; i < kLanes; ++i) {
                           const std::complex<T> value = line[i][j * view.inner];
                           x[j].re[i] = value.real();
                           x[j].im[i] = value.imag();
                         }
                       }
                       plan->template Run<kLanes>(x, scratch, is_inverse);
                       for (int64_t j = 0; j < view.size; ++j) {
                         for (int64_t i = 0; i < count; ++i) {
                           line[i][j * view.inner] = {x[j].re[i] * scale, x[j].im[i] * scale};
                         }
                       }
                     });
}

// Rows of n real numbers to rows of n / 2 + 1 complex ones.
template <typename T>
Status RealToComplex(const KernelContext& ctx, int64_t rows, int64_t n, const T* in,
                     std::complex<T>* out) {
  const bool is_even = n % 2 == 0;
  // An even row is transformed as n / 2 complex numbers, which are taken apart afterwards.
  const int64_t length = is_even ? n / 2 : n, width = n / 2 + 1;
  const auto plan = FftPlan<T>::Find(length);
  std::vector<std::complex<T>> roots;
  for (int64_t k = 0; is_even && k < width; ++k) roots.push_back(RootOfUnity<T>(k, n));
  return ForLines<T>(ctx, rows, length, *plan,
                     [&](int64_t first, int64_t count, auto* x, auto* scratch) {
                       constexpr int kLanes = decltype(x->re)::RowsAtCompileTime;
                       const T* line[kLanes];
                       for (int64_t i = 0; i < kLanes; ++i)
                         line[i] = in + (first + std::min(i, count - 1)) * n;
                       for (int64_t j = 0; j < length; ++j) {
                         for (int i = 0; i < kLanes; ++i) {
                           x[j].re[i] = is_even ? line[i][2 * j] : line[i][j];
                           x[j].im[i] = is_even ? line[i][2 * j + 1] : T(0);
                         }
                       }
                       plan->template Run<kLanes>(x, scratch, false);
                       for (int64_t k = 0; k < width; ++k) {
                         auto here = x[k % length];
                         if (is_even) {
                           auto there = x[(length - k) % length];
                           there.im = -there.im;
                           const auto even = Scaled(here + there, T(0.5));
                           const auto odd = Turned(Scaled(here - there, T(0.5)));
                           here = even + odd * roots[k];
                         }
                         for (int64_t i = 0; i < count; ++i) {
                           out[(first + i) * width + k] = {here.re[i], here.im[i]};
                         }
                       }
                     });
}

// The inverse: rows of n / 2 + 1 complex numbers to rows of n real ones.
template <typename T>
Status ComplexToReal(const KernelContext& ctx, int64_t rows, int64_t n, const std::complex<T>* in,
                     T* out) {
  const bool is_even = n % 2 == 0;
  const int64_t length = is_even ? n / 2 : n, width = n / 2 + 1;
  const auto plan = FftPlan<T>::Find(length);
  std::vector<std::complex<T>> roots;
  for (int64_t k = 0; is_even && k < length; ++k) roots.push_back(std::conj(RootOfUnity<T>(k, n)));
  const T scale = T(1) / static_cast<T>(length);
  return ForLines<T>(ctx, rows, length, *plan,
                     [&](int64_t first, int64_t count, auto* x, auto* scratch) {
                       using E = std::remove_reference_t<decltype(*x)>;
                       constexpr int kLanes = decltype(x->re)::RowsAtCompileTime;
                       const std::complex<T>* line[kLanes];
                       for (int64_t i = 0; i < kLanes; ++i)
                         line[i] = in + (first + std::min(i, count - 1)) * width;
                       // The first number, and the last of an even row, are real by their nature.
                       const auto load = [&](int64_t k) {
                         E element;
                         for (int i = 0; i < kLanes; ++i) {
                           const bool is_real = k == 0 || (is_even && k == length);
                           element.re[i] = line[i][k].real();
                           element.im[i] = is_real ? T(0) : line[i][k].imag();
                         }
                         return element;
                       };
                       if (is_even) {
                         for (int64_t k = 0; k < length; ++k) {
                           const E here = load(k);
                           E there = load(length - k);
                           there.im = -there.im;
                           const E even = Scaled(here + there, T(0.5));
                           const E odd = Scaled(here - there, T(0.5)) * roots[k];
                           x[k] = even - Turned(odd);
                         }
                       } else {
                         for (int64_t k = 0; k < width; ++k) {
                           x[k] = load(k);
                           if (k > 0) {
                             x[length - k] = x[k];
                             x[length - k].im = -x[k].im;
                           }
                         }
                       }
                       plan->template Run<kLanes>(x, scratch, true);
                       for (int64_t j = 0; j < length; ++j) {
                         for (int64_t i = 0; i < count; ++i) {
                           T* const to = out + (first + i) * n;
                           if (is_even) {
                             to[2 * j] = x[j].re[i] * scale;
                             to[2 * j + 1] = x[j].im[i] * scale;
                           } else {
                             to[j] = x[j].re[i] * scale;
                           }
                         }
                       }
                     });
}

Status CheckRank(const Tensor& in, int rank) {
  if (in.rank() >= rank) return OkStatus();
  return InvalidArgument("Input must have rank of at least ", rank,
                         " but got: ", in.shape().ToString());
}

template <typename T, int kRank, bool kInverse>
class Fft final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_RETURN_IF_ERROR(CheckRank(in, kRank));
    const Shape shape = in.shape();
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, in.dtype(), shape));
    if (out.num_elements() > 0) {
      if (out.raw() != in.raw()) std::memcpy(out.mutable_raw(), in.raw(), in.bytes());
      for (int i = 1; i <= kRank; ++i) {
        TFLEET_RETURN_IF_ERROR(
            TransformAxis<T>(ctx, shape, shape.rank() - i, kInverse,
                             out.template mutable_values<std::complex<T>>().data()));
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

// What RFFT and IRFFT share: the lengths of the real side, checked against the input.
template <int kRank, bool kInverse>
StatusOr<Shape> RealShape(const KernelContext& ctx) {
  const Tensor &in = ctx.input(0), &lengths = ctx.input(1);
  TFLEET_RETURN_IF_ERROR(CheckRank(in, kRank));
  if (lengths.rank() != 1 || lengths.dim(0) != kRank) {
    return InvalidArgument("fft_length must have shape [", kRank, "]");
  }
  Shape real = in.shape();
  for (int i = 0; i < kRank; ++i) {
    const int64_t length = lengths.values<int32_t>()[i];
    const int axis = in.rank() - kRank + i;
    if (length < 0) return InvalidArgument("fft_length[", i, "] must >= 0, but got: ", length);
    const int64_t least = kInverse && i == kRank - 1 ? length / 2 + 1 : length;
    if (in.dim(axis) != 0 && in.dim(axis) < least) {
      return InvalidArgument("Input dimension ", axis, " must have length of at least ", least,
                             " but got: ", in.dim(axis));
    }
    TFLEET_ASSIGN_OR_RETURN(real, real.WithDim(axis, length));
  }
  return real;
}

// The first elements along each dimension.
template <typename T>
StatusOr<const T*> Cropped(const KernelContext& ctx, const Tensor& in, const Shape& to,
                           BufferRef* own) {
  if (in.shape() == to) return in.values<T>().data();
  TFLEET_ASSIGN_OR_RETURN(*own, AllocateHostBuffer(to.num_elements() * sizeof(T)));
  const auto from_strides = DenseStrides(in.shape().dims()), to_strides = DenseStrides(to.dims());
  CopyAxes axes;
  for (int i = 0; i < to.rank(); ++i) axes.push_back({to.dim(i), from_strides[i], to_strides[i]});
  StridedCopy(in.dtype(), axes, in.raw(), (*own)->data(), &ctx.pool());
  return static_cast<const T*>((*own)->data());
}

template <typename T, int kRank>
class Rfft final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Shape real, (RealShape<kRank, false>(ctx)));
    const int64_t n = real.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            real.WithDim(real.rank() - 1, n == 0 ? 0 : n / 2 + 1));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<std::complex<T>>, shape));
    std::complex<T>* const to = out.mutable_values<std::complex<T>>().data();
    if (in.num_elements() == 0) {
      std::fill_n(to, out.num_elements(), std::complex<T>());
    } else if (out.num_elements() > 0) {
      BufferRef own;
      TFLEET_ASSIGN_OR_RETURN(const T* const from, Cropped<T>(ctx, in, real, &own));
      TFLEET_RETURN_IF_ERROR(RealToComplex<T>(ctx, real.num_elements() / n, n, from, to));
      for (int i = 2; i <= kRank; ++i) {
        TFLEET_RETURN_IF_ERROR(TransformAxis<T>(ctx, shape, shape.rank() - i, false, to));
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename T, int kRank>
class Irfft final : public Kernel {
 public:
  bool IsExpensive() const override { return true; }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(const Shape real, (RealShape<kRank, true>(ctx)));
    const int64_t n = real.dim(-1);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(kDTypeOf<T>, real));
    T* const to = out.template mutable_values<T>().data();
    if (in.num_elements() == 0) {
      std::fill_n(to, out.num_elements(), T(0));
    } else if (out.num_elements() > 0) {
      TFLEET_ASSIGN_OR_RETURN(const Shape half, real.WithDim(real.rank() - 1, n / 2 + 1));
      BufferRef own;
      TFLEET_ASSIGN_OR_RETURN(const std::complex<T>* from,
                              Cropped<std::complex<T>>(ctx, in, half, &own));
      if (kRank > 1) {
        if (!own) {
          TFLEET_ASSIGN_OR_RETURN(own, AllocateHostBuffer(in.bytes()));
          std::memcpy(own->data(), in.raw(), in.bytes());
        }
        std::complex<T>* const changed = static_cast<std::complex<T>*>(own->data());
        for (int i = 2; i <= kRank; ++i) {
          TFLEET_RETURN_IF_ERROR(TransformAxis<T>(ctx, half, half.rank() - i, true, changed));
        }
        from = changed;
      }
      TFLEET_RETURN_IF_ERROR(ComplexToReal<T>(ctx, real.num_elements() / n, n, from, to));
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

template <typename T, int kRank>
void AddRank(KernelRegistry& r, const std::string& rank) {
  const TypeConstraint complex{"Tcomplex", kDTypeOf<std::complex<T>>}, real{"Treal", kDTypeOf<T>};
  r.Add<Fft<T, kRank, false>>("FFT" + rank, kCpu, {complex});
  r.Add<Fft<T, kRank, true>>("IFFT" + rank, kCpu, {complex});
  r.Add<Rfft<T, kRank>>("RFFT" + rank, kCpu, {real, complex});
  r.Add<Irfft<T, kRank>>("IRFFT" + rank, kCpu, {real, complex});
}

template <typename T>
void AddAll(KernelRegistry& r) {
  AddRank<T, 1>(r, "");
  AddRank<T, 2>(r, "2D");
  AddRank<T, 3>(r, "3D");
}

}  // namespace

void RegisterFftKernels(KernelRegistry& r) {
  AddAll<float>(r);
  AddAll<double>(r);
}

}  // namespace tensorfleet::cpu
