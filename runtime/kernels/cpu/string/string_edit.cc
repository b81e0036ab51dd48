// Kernels that change strings one by one: StringJoin, StringLower, StringUpper, StringStrip,
// StringLength, Substr. Schemas and shape rules: runtime/ops/string/string_ops.cc.
#include <string>

#include "absl/strings/ascii.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/strided_copy.h"
#include "runtime/kernels/cpu/string/unicode_text.h"
#include "runtime/kernels/cpu/string/utf8.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

class StringJoin final : public Kernel {
 public:
  explicit StringJoin(KernelInit& init) { init.Get("separator", &separator_); }
  Status Compute(KernelContext& ctx) const override {
    Shape shape;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& here = ctx.input(i).shape();
      if (here.is_scalar()) continue;
      if (!shape.is_scalar() && here != shape) {
        return InvalidArgument("Input shapes do not match: ", shape.ToString(), " vs. ",
                               here.ToString());
      }
      shape = here;
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
    auto to = out.mutable_values<std::string>();
    for (size_t at = 0; at < to.size(); ++at) {
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        const Tensor& in = ctx.input(i);
        if (i > 0) to[at] += separator_;
        to[at] += in.values<std::string>()[in.shape().is_scalar() ? 0 : at];
      }
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  std::string separator_;
};

// Changes every string with `kChange`, in place when nobody else holds them.
template <void (*kChange)(std::string*)>
class ChangeEach : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    Tensor value = ctx.TakeInput(0);
    if (!value.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(value, value.Clone());
    }
    for (std::string& text : value.mutable_values<std::string>()) kChange(&text);
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }
};

// ASCII letters only, or with encoding "utf-8" those of all languages.
class CaseKernel final : public Kernel {
 public:
  explicit CaseKernel(KernelInit& init) : to_upper_(init.node().op() == "StringUpper") {
    std::string encoding;
    init.Get("encoding", &encoding);
    is_utf8_ = encoding == "utf-8";
    if (!encoding.empty() && !is_utf8_) {
      init.Fail(
          InvalidArgument("only utf-8 or '' (no encoding) is supported, received ", encoding));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    Tensor value = ctx.TakeInput(0);
    if (!value.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(value, value.Clone());
    }
    for (std::string& text : value.mutable_values<std::string>()) {
      if (is_utf8_) {
        TFLEET_ASSIGN_OR_RETURN(text, ChangeCase(text, to_upper_));
      } else if (to_upper_) {
        absl::AsciiStrToUpper(&text);
      } else {
        absl::AsciiStrToLower(&text);
      }
    }
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }

 private:
  const bool to_upper_;
  bool is_utf8_ = false;
};

void Strip(std::string* text) { absl::StripAsciiWhitespace(text); }

StatusOr<bool> CountsCharacters(KernelInit& init) {
  TFLEET_ASSIGN_OR_RETURN(const std::string unit, GetAttr<std::string>(init.def(), "unit"));
  return unit == "UTF8_CHAR";
}

class StringLength final : public Kernel {
 public:
  explicit StringLength(KernelInit& init) {
    StatusOr<bool> characters = CountsCharacters(init);
    characters.ok() ? void(characters_ = *characters) : init.Fail(characters.status());
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt32, in.shape()));
    auto to = out.mutable_values<int32_t>().begin();
    for (const std::string& text : in.values<std::string>()) {
      *to++ = static_cast<int32_t>(characters_ ? Utf8Length(text) : text.size());
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  bool characters_ = false;
};

class Substr final : public Kernel {
 public:
  explicit Substr(KernelInit& init) {
    StatusOr<bool> characters = CountsCharacters(init);
    characters.ok() ? void(characters_ = *characters) : init.Fail(characters.status());
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const Tensor& pos = ctx.input(1);
    const Tensor& len = ctx.input(2);
    if (pos.shape() != len.shape()) {
      return InvalidArgument("pos and len should have the same shape, got: ",
                             pos.shape().ToString(), " vs. ", len.shape().ToString());
    }
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, Broadcast(in.shape(), pos.shape()));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
    const Integers positions = IntegersOf(pos);
    const Integers lengths = IntegersOf(len);
    const Integers text_strides = BroadcastStrides(in.shape(), shape.rank());
    const Integers pos_strides = BroadcastStrides(pos.shape(), shape.rank());
    auto to = out.mutable_values<std::string>();
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      int64_t text_at = 0, pos_at = 0, rest = i;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        const int64_t index = rest % shape.dim(d);
        rest /= shape.dim(d);
        text_at += index * text_strides[d];
        pos_at += index * pos_strides[d];
      }
      const std::string& text = in.values<std::string>()[text_at];
      const int64_t size = characters_ ? Utf8Length(text) : text.size();
      const int64_t wanted = positions[pos_at];
      if (wanted > size || wanted < -size) {
        return InvalidArgument("pos ", wanted, " out of range for string b'", text, "' at index ",
                               i);
      }
      const int64_t begin = wanted < 0 ? wanted + size : wanted;
      // A negative length takes all bytes that are left, but no character: TensorFlow's way.
      const int64_t most = size - begin;
      const int64_t length = lengths[pos_at] < 0 ? (characters_ ? 0 : most) : lengths[pos_at];
      const int64_t count = std::min(length, most);
      to[i] = characters_ ? Characters(text, begin, count) : text.substr(begin, count);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static std::string Characters(absl::string_view text, int64_t begin, int64_t count) {
    size_t from = 0;
    for (; begin > 0; --begin) from = Utf8Next(text, from);
    size_t to = from;
    for (; count > 0; --count) to = Utf8Next(text, to);
    return std::string(text.substr(from, to - from));
  }

  static StatusOr<Shape> Broadcast(const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    Integers dims(rank);
    for (int i = 1; i <= rank; ++i) {
      const int64_t x = i <= a.rank() ? a.dim(-i) : 1;
      const int64_t y = i <= b.rank() ? b.dim(-i) : 1;
      if (x != y && x != 1 && y != 1) {
        return InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
      }
      dims[rank - i] = x == 1 ? y : x;
    }
    return Shape::Make(dims);
  }

  static Integers BroadcastStrides(const Shape& shape, int rank) {
    const auto dense = DenseStrides(shape.dims());
    Integers strides(rank, 0);
    for (int i = 1; i <= shape.rank(); ++i) {
      if (shape.dim(-i) != 1) strides[rank - i] = dense[shape.rank() - i];
    }
    return strides;
  }

  bool characters_ = false;
};

}  // namespace

void RegisterStringEditKernels(KernelRegistry& kernels) {
  kernels.Add<StringJoin>("StringJoin", kCpu);
  kernels.Add<CaseKernel>("StringLower", kCpu);
  kernels.Add<CaseKernel>("StringUpper", kCpu);
  kernels.Add<ChangeEach<Strip>>("StringStrip", kCpu);
  kernels.Add<StringLength>("StringLength", kCpu);
  kernels.Add<Substr>("Substr", kCpu);
}

}  // namespace tensorfleet::cpu
