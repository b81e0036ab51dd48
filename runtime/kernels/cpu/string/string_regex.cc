// Kernels for regular expressions. Schemas and shape rules: runtime/ops/string/string_ops.cc.
#include <memory>
#include <string>

#include <re2/re2.h>

#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// Linear in the text whatever the pattern; the memory of one is bounded by RE2.
StatusOr<std::shared_ptr<const RE2>> Compile(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(pattern, options);
  if (!compiled->ok()) {
    return InvalidArgument("Invalid pattern: ", pattern, ", error: ", compiled->error());
  }
  return compiled;
}

// The pattern of a node: from its attribute, or else from input 1 of every step.
class PatternSource {
 public:
  PatternSource(KernelInit& init, bool is_static) : is_static_(is_static) {
    if (!is_static) return;
    std::string text;
    init.Get("pattern", &text);
    StatusOr<std::shared_ptr<const RE2>> compiled = Compile(text);
    if (compiled.ok()) {
      pattern_ = *compiled;
    } else {
      init.Fail(compiled.status());
    }
  }
  StatusOr<std::shared_ptr<const RE2>> Get(const KernelContext& ctx) const {
    if (is_static_) return pattern_;
    if (!ctx.input(1).shape().is_scalar()) {
      return InvalidArgument("Pattern must be scalar, but received ",
                             ctx.input(1).shape().ToString());
    }
    return Compile(ctx.input(1).scalar<std::string>());
  }

 private:
  const bool is_static_;
  std::shared_ptr<const RE2> pattern_;
};

template <bool kStatic>
class FullMatch final : public Kernel {
 public:
  explicit FullMatch(KernelInit& init) : pattern_(init, kStatic) {}
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<const RE2> pattern, pattern_.Get(ctx));
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, in.shape()));
    auto to = out.mutable_values<bool>().begin();
    for (const std::string& text : in.values<std::string>()) *to++ = RE2::FullMatch(text, *pattern);
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const PatternSource pattern_;
};

template <bool kStatic>
class Replace final : public Kernel {
 public:
  explicit Replace(KernelInit& init) : pattern_(init, kStatic) {
    init.Get("replace_global", &everywhere_);
    if (kStatic) init.Get("rewrite", &rewrite_);
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(const std::shared_ptr<const RE2> pattern, pattern_.Get(ctx));
    std::string rewrite = rewrite_;
    if (!kStatic) {
      if (!ctx.input(2).shape().is_scalar()) {
        return InvalidArgument("Rewrite must be scalar, but received ",
                               ctx.input(2).shape().ToString());
      }
      rewrite = ctx.input(2).scalar<std::string>();
    }
    Tensor value = ctx.TakeInput(0);
    if (!value.buffer_is_unique()) {
      TFLEET_ASSIGN_OR_RETURN(value, value.Clone());
    }
    // A rewrite that names groups which the pattern has not leaves the text alone, as TensorFlow
    // does.
    std::string error;
    if (pattern->CheckRewriteString(rewrite, &error)) {
      for (std::string& text : value.mutable_values<std::string>()) {
        if (everywhere_) {
          RE2::GlobalReplace(&text, *pattern, rewrite);
        } else {
          RE2::Replace(&text, *pattern, rewrite);
        }
      }
    }
    ctx.SetOutput(0, std::move(value));
    return OkStatus();
  }

 private:
  const PatternSource pattern_;
  std::string rewrite_;
  bool everywhere_ = true;
};

}  // namespace

void RegisterStringRegexKernels(KernelRegistry& kernels) {
  kernels.Add<FullMatch<true>>("StaticRegexFullMatch", kCpu);
  kernels.Add<FullMatch<false>>("RegexFullMatch", kCpu);
  kernels.Add<Replace<true>>("StaticRegexReplace", kCpu);
  kernels.Add<Replace<false>>("RegexReplace", kCpu);
}

}  // namespace tensorfleet::cpu
