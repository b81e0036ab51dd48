// StringFormat, with which front-ends print: tensors in place of the placeholders of a template.
// Schema and shape rule: runtime/ops/string/string_ops.cc.
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

// A tensor in nested brackets, at most `edge` entries from both ends of each axis.
class Layout {
 public:
  Layout(const Tensor& tensor, int64_t edge) : flat_(), shape_(tensor.shape()), edge_(edge) {
    flat_ = tensor.Flat();
  }
  std::string Text() {
    Append(0, 0);
    return std::move(text_);
  }

 private:
  void Append(int axis, int64_t begin) {
    if (axis == shape_.rank()) return AppendElement(begin);
    const int64_t count = shape_.dim(axis);
    const int64_t each = shape_.SubShape(axis + 1, shape_.rank()).num_elements();
    const int64_t head = std::min(edge_, count);
    const int64_t tail = std::max(edge_, count - edge_);
    text_ += '[';
    for (int64_t i = 0; i < head; ++i) {
      if (i > 0) Separate(axis);
      Append(axis + 1, begin + i * each);
    }
    if (count > 2 * edge_) {
      Separate(axis);
      text_ += "...";
    }
    for (int64_t i = tail; i < count; ++i) {
      Separate(axis);
      Append(axis + 1, begin + i * each);
    }
    text_ += ']';
  }
  // A blank between elements, line breaks and indentation between rows.
  void Separate(int axis) {
    const int inner = shape_.rank() - 1 - axis;
    if (inner == 0) {
      text_ += ' ';
    } else {
      text_.append(inner, '\n');
      text_.append(axis + 1, ' ');
    }
  }
  void AppendElement(int64_t i) {
    if (flat_.dtype() == DType::kString) {
      absl::StrAppend(&text_, "\"", absl::CEscape(flat_.values<std::string>()[i]), "\"");
    } else {
      text_ += flat_.Rows(i, i + 1).SummarizeValues(1);
    }
  }

  Tensor flat_;
  const Shape shape_;
  const int64_t edge_;
  std::string text_;
};

class StringFormat final : public Kernel {
 public:
  explicit StringFormat(KernelInit& init) {
    std::string text, placeholder;
    init.Get("template", &text);
    init.Get("placeholder", &placeholder);
    init.Get("summarize", &summarize_);
    if (placeholder.empty()) {
      init.Fail(InvalidArgument("the placeholder of StringFormat must not be empty"));
      return;
    }
    pieces_ = absl::StrSplit(text, placeholder);
    if (static_cast<int>(pieces_.size()) - 1 != init.node().num_inputs()) {
      init.Fail(InvalidArgument("num placeholders in template and num inputs must match: ",
                                pieces_.size() - 1, " vs. ", init.node().num_inputs()));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    std::string text = pieces_[0];
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor& value = ctx.input(i);
      const int64_t edge = summarize_ < 0 ? value.num_elements() : summarize_;
      absl::StrAppend(&text, Layout(value, edge).Text(), pieces_[i + 1]);
    }
    ctx.SetOutput(0, Tensor::Scalar<std::string>(std::move(text)));
    return OkStatus();
  }

 private:
  std::vector<std::string> pieces_;  // of the template, around the placeholders
  int64_t summarize_ = 3;
};

}  // namespace

void RegisterStringFormatKernels(KernelRegistry& kernels) {
  kernels.Add<StringFormat>("StringFormat", kCpu);
}

}  // namespace tensorfleet::cpu
