// UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeTranscode, UnicodeScript. Schemas
// and shape rules: runtime/ops/string/unicode_ops.cc.
#include <unicode/uscript.h>
#include <unicode/utf.h>

#include <string>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/cpu/string/unicode_text.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

class UnicodeDecode final : public Kernel {
 public:
  explicit UnicodeDecode(KernelInit& init) : policy_(UnicodePolicy::Read(init)) {
    init.Get("input_encoding", &encoding_);
    init.Get("Tsplits", &split_type_);
    if (init.status().ok()) init.Fail(UnicodeReader::Make(encoding_).status());
  }
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(UnicodeReader reader, UnicodeReader::Make(encoding_));
    std::vector<int32_t> characters;
    std::vector<int64_t> starts, splits = {0};
    const bool has_starts = ctx.num_outputs() > 2;
    for (const std::string& text : ctx.input(0).values<std::string>()) {
      TFLEET_RETURN_IF_ERROR(reader.Read(text, policy_, [&](int32_t c, int64_t start) {
        characters.push_back(c);
        if (has_starts) starts.push_back(start);
      }));
      splits.push_back(static_cast<int64_t>(characters.size()));
    }
    TFLEET_ASSIGN_OR_RETURN(Tensor row_splits, IntegerVector(split_type_, splits));
    ctx.SetOutput(0, std::move(row_splits));
    ctx.SetOutput(1, Tensor::Vector<int32_t>(characters));
    if (has_starts) ctx.SetOutput(2, Tensor::Vector<int64_t>(starts));
    return OkStatus();
  }

 private:
  const UnicodePolicy policy_;
  std::string encoding_;
  DType split_type_ = DType::kInt64;
};

class UnicodeEncode final : public Kernel {
 public:
  explicit UnicodeEncode(KernelInit& init) : policy_(UnicodePolicy::Read(init)) {
    std::string encoding;
    init.Get("output_encoding", &encoding);
    format_ = UnicodeFormatOf(encoding);
  }
  Status Compute(KernelContext& ctx) const override {
    const auto characters = ctx.input(0).values<int32_t>();
    for (const auto& [index, name] : {std::pair{0, "input_values"}, {1, "input_splits"}}) {
      if (ctx.input(index).rank() == 1) continue;
      return InvalidArgument(name,
                             " must be a vector, got shape: ", ctx.input(index).shape().ToString());
    }
    const Integers splits = IntegersOf(ctx.input(1));
    TFLEET_RETURN_IF_ERROR(CheckSplits(splits, ctx.input(0).num_elements()));
    TFLEET_ASSIGN_OR_RETURN(
        Tensor out, ctx.Allocate(DType::kString, {static_cast<int64_t>(splits.size()) - 1}));
    UnicodeWriter writer;
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        const int32_t c = characters[i];
        if (U_IS_UNICODE_CHAR(c) || policy_.errors == UnicodeErrors::kIgnore) {
          writer.Add(c);
        } else if (policy_.errors == UnicodeErrors::kReplace) {
          writer.Add(policy_.replacement);
        } else {
          return InvalidArgument("Code point is out of range for Unicode, or a noncharacter.");
        }
      }
      writer.Take(format_, &out.mutable_values<std::string>()[row]);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status CheckSplits(const Integers& splits, int64_t size) {
    if (splits.empty()) {
      return InvalidArgument(
          "Input_splits should contain elements, but given input_values has 0 "
          "elements");
    }
    if (splits.front() != 0) return InvalidArgument("First value in input_splits must be zero.");
    if (splits.back() != size) {
      return InvalidArgument("Last value in input_splits must be equal to length of input_tensor.");
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] >= splits[i - 1]) continue;
      return InvalidArgument("Values in input_splits must be equal or in ascending order.");
    }
    return OkStatus();
  }

  const UnicodePolicy policy_;
  UnicodeFormat format_ = UnicodeFormat::kUtf8;
};

class UnicodeTranscode final : public Kernel {
 public:
  explicit UnicodeTranscode(KernelInit& init) : policy_(UnicodePolicy::Read(init)) {
    std::string to;
    init.Get("input_encoding", &encoding_);
    init.Get("output_encoding", &to);
    format_ = UnicodeFormatOf(to);
    if (init.status().ok()) init.Fail(UnicodeReader::Make(encoding_).status());
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(UnicodeReader reader, UnicodeReader::Make(encoding_));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, in.shape()));
    std::string* to = out.mutable_values<std::string>().data();
    UnicodeWriter writer;
    for (const std::string& text : in.values<std::string>()) {
      TFLEET_RETURN_IF_ERROR(
          reader.Read(text, policy_, [&](int32_t c, int64_t) { writer.Add(c); }));
      writer.Take(format_, to++);
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  const UnicodePolicy policy_;
  std::string encoding_;
  UnicodeFormat format_ = UnicodeFormat::kUtf8;
};

// ICU's number of the script that a character belongs to; -1 for what is no character.
class UnicodeScript final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.ForwardOrAllocate(0, DType::kInt32, in.shape()));
    int32_t* to = out.mutable_values<int32_t>().data();
    for (const int32_t c : in.values<int32_t>()) {
      UErrorCode status = U_ZERO_ERROR;
      const int32_t script = uscript_getScript(c, &status);
      *to++ = U_SUCCESS(status) ? script : USCRIPT_INVALID_CODE;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterUnicodeKernels(KernelRegistry& r) {
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    r.Add<UnicodeDecode>("UnicodeDecode", kCpu, {{"Tsplits", type}});
    r.Add<UnicodeDecode>("UnicodeDecodeWithOffsets", kCpu, {{"Tsplits", type}});
    r.Add<UnicodeEncode>("UnicodeEncode", kCpu, {{"Tsplits", type}});
  }
  r.Add<UnicodeTranscode>("UnicodeTranscode", kCpu);
  r.Add<UnicodeScript>("UnicodeScript", kCpu);
}

}  // namespace tensorfleet::cpu
