// Numbers about images in another order of dimensions (DataFormatDimMap, DataFormatVecPermute), and
// UnravelIndex. Schemas: runtime/ops/array/format_ops.cc.
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/types.h"

namespace tensorfleet::cpu {
namespace {

// Reads src_format and dst_format; fails unless one is a permutation of the other.
class Formats {
 public:
  explicit Formats(KernelInit& init) {
    init.Get("src_format", &src_);
    init.Get("dst_format", &dst_);
    if (!init.status().ok()) return;
    for (const auto& [which, format] :
         {std::pair("Source", src_), std::pair("Destination", dst_)}) {
      if (format.size() != 4 && format.size() != 5) {
        init.Fail(InvalidArgument(which, " format must be of length 4 or 5, received ",
                                  which[0] == 'S' ? "src" : "dst", "_format = ", format));
        return;
      }
    }
    std::string a = src_, b = dst_;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a != b || std::adjacent_find(a.begin(), a.end()) != a.end()) {
      init.Fail(InvalidArgument("Destination and source format must determine a permutation, got ",
                                src_, " and ", dst_));
    }
  }
  const std::string& src() const { return src_; }
  const std::string& dst() const { return dst_; }

 private:
  std::string src_, dst_;
};

// Where dimension x of the one format is in the other.
template <typename T>
class DataFormatDimMap final : public Kernel {
 public:
  explicit DataFormatDimMap(KernelInit& init) : formats_(init) {
    for (const char c : formats_.src()) places_.push_back(static_cast<T>(formats_.dst().find(c)));
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, x.dtype(), x.shape()));
    const T size = static_cast<T>(places_.size());
    const absl::Span<const T> from = x.values<T>();
    const absl::Span<T> to = out.template mutable_values<T>();
    for (size_t i = 0; i < from.size(); ++i) to[i] = places_[((from[i] % size) + size) % size];
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Formats formats_;
  std::vector<T> places_;
};

// Sizes, or pairs of sizes, in the order of the other format; of all dimensions or of those of
// space alone.
template <typename T>
class DataFormatVecPermute final : public Kernel {
 public:
  explicit DataFormatVecPermute(KernelInit& init) : formats_(init) {}
  Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 1 && x.rank() != 2) {
      return InvalidArgument("input must be a vector or 2D tensor, but got shape ",
                             x.shape().ToString());
    }
    const int64_t full = static_cast<int64_t>(formats_.src().size()), spatial = full - 2;
    const int64_t size = x.dim(0);
    if (size != full && size != spatial) {
      return InvalidArgument(x.rank() == 1 ? "1D input" : "First dimension of 2D input",
                             " must be of size ", spatial, " or ", full, ", but got shape ",
                             x.shape().ToString());
    }
    if (x.rank() == 2 && x.dim(1) != 2) {
      return InvalidArgument("Second dimension of 2D input must be of size 2, but got shape ",
                             x.shape().ToString());
    }
    std::string src = formats_.src(), dst = formats_.dst();
    if (size == spatial) {
      for (std::string* format : {&src, &dst}) {
        format->erase(std::remove_if(format->begin(), format->end(),
                                     [](char c) { return c == 'N' || c == 'C'; }),
                      format->end());
        if (static_cast<int64_t>(format->size()) != spatial) {
          return InvalidArgument("Format specifier must contain N and C, got ", formats_.src(),
                                 " and ", formats_.dst());
        }
      }
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
    const int64_t width = x.rank() == 2 ? 2 : 1;
    const T* const from = x.values<T>().data();
    T* to = out.template mutable_values<T>().data();
    for (const char c : dst) {
      to = std::copy_n(from + static_cast<int64_t>(src.find(c)) * width, width, to);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const Formats formats_;
};

// Flat positions in an array as positions along each of its dimensions.
template <typename T>
class UnravelIndex final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor &indices = ctx.input(0), &dims_in = ctx.input(1);
    if (indices.rank() > 1) {
      return InvalidArgument("The indices can only be scalar or vector, got \"",
                             indices.shape().ToString(), "\"");
    }
    if (dims_in.rank() != 1) {
      return InvalidArgument("The indices can only be 1-D, got \"", dims_in.shape().ToString(),
                             "\"");
    }
    const absl::Span<const T> dims = dims_in.values<T>();
    T total = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 0) {
        return InvalidArgument(
            "Input dims cannot contain a dim of zero, but dims contains zero at index ", d);
      }
      if (dims[d] < 0) {
        return InvalidArgument("Input dims cannot be negative. Got dim = ", dims[d], " at index ",
                               d);
      }
      if (__builtin_mul_overflow(total, dims[d], &total)) {
        return InvalidArgument("Input dims product is causing integer overflow: (",
                               absl::StrJoin(dims, " "), ")");
      }
    }
    const absl::Span<const T> from = indices.values<T>();
    const int64_t count = static_cast<int64_t>(from.size());
    // Without dimensions there is nothing to be outside of.
    for (const T index : from) {
      if (!dims.empty() && index >= total) {
        return InvalidArgument("index is out of bound as with dims");
      }
    }
    const int64_t rank = static_cast<int64_t>(dims.size());
    TFLEET_ASSIGN_OR_RETURN(const Shape shape,
                            indices.rank() == 0 ? Shape::Make({rank}) : Shape::Make({rank, count}));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(indices.dtype(), shape));
    T* const to = out.template mutable_values<T>().data();
    for (int64_t i = 0; i < count; ++i) {
      T rest = from[i];
      for (int64_t d = rank - 1; d > 0; --d) {
        to[d * count + i] = rest % dims[d];
        rest /= dims[d];
      }
      if (rank > 0) to[i] = rest;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterDataFormatKernels(KernelRegistry& r) {
  using Index = Types<int32_t, int64_t>;
  AddForTypes<DataFormatDimMap>(r, "DataFormatDimMap", Index());
  AddForTypes<DataFormatVecPermute>(r, "DataFormatVecPermute", Index());
  AddForTypes<UnravelIndex>(r, "UnravelIndex", Index(), "Tidx");
}

}  // namespace tensorfleet::cpu
