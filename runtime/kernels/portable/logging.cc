// Ops for people who watch a graph run: Print, PrintV2, Assert, Timestamp. Schemas:
// runtime/ops/portable/basic_ops.cc.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/kernels/kernel_registry.h"
#include "runtime/kernels/portable/print_listeners.h"

namespace tensorfleet::portable {
namespace {

// "[1 2 3...] [a b]": every input from `first` on, in brackets.
std::string Summaries(const KernelContext& ctx, int first, int64_t max_elements,
                      absl::string_view separator) {
  std::string text;
  for (int i = first; i < ctx.num_inputs(); ++i) {
    absl::StrAppend(&text, i == first ? "" : separator, "[",
                    ctx.input(i).SummarizeValues(max_elements), "]");
  }
  return text;
}

// One call, so that lines of several threads do not mix.
void WriteWhole(FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

class Assert final : public Kernel {
 public:
  explicit Assert(KernelInit& init) { init.Get("summarize", &summarize_); }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& condition = ctx.input(0);
    if (!condition.shape().is_scalar()) {
      return InvalidArgument("In[0] should be a scalar: ", condition.shape().ToString());
    }
    if (condition.scalar<bool>()) return OkStatus();
    const std::string data = Summaries(ctx, 1, summarize_, " ");
    // Also here: whoever reads this server's log may not be the one who gets the error.
    LogWarning("assertion failed", {{"node", ctx.node().name()}, {"data", data}});
    return InvalidArgument("assertion failed: ", data);
  }

 private:
  int64_t summarize_ = 3;
};

class Print final : public Kernel {
 public:
  explicit Print(KernelInit& init) {
    init.Get("message", &message_);
    init.Get("first_n", &first_n_);
    init.Get("summarize", &summarize_);
  }
  Status Compute(KernelContext& ctx) const override {
    if (first_n_ < 0 || printed_.fetch_add(1, std::memory_order_relaxed) < first_n_) {
      WriteWhole(stderr, absl::StrCat(message_, Summaries(ctx, 1, summarize_, ""), "\n"));
    }
    ctx.SetOutput(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  std::string message_;
  int64_t first_n_ = -1;
  int64_t summarize_ = 3;
  mutable std::atomic<int64_t> printed_{0};
};

class PrintV2 final : public Kernel {
 public:
  explicit PrintV2(KernelInit& init) {
    init.Get("output_stream", &stream_);
    init.Get("end", &end_);
    const bool known = stream_ == "stdout" || stream_ == "stderr" || stream_ == "log(info)" ||
                       stream_ == "log(warning)" || stream_ == "log(error)" ||
                       absl::StartsWith(stream_, "file://");
    if (!known) {
      init.Fail(InvalidArgument("Unknown output stream: ", stream_,
                                "; use stdout, stderr, log(info), log(warning), log(error) or "
                                "file://PATH"));
    }
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    if (!input.shape().is_scalar()) {
      return InvalidArgument("Input is expected to be scalar, but got ", input.shape().ToString());
    }
    const std::string& text = input.scalar<std::string>();
    if (absl::StartsWith(stream_, "file://")) {
      return Append(std::string(absl::StripPrefix(stream_, "file://")), text + end_);
    }
    if (TellPrintListeners(text + end_)) return OkStatus();
    if (stream_ == "stdout") {
      WriteWhole(stdout, text + end_);
    } else if (stream_ == "stderr") {
      WriteWhole(stderr, text + end_);
    } else if (stream_ == "log(info)") {
      LogInfo(text);
    } else if (stream_ == "log(warning)") {
      LogWarning(text);
    } else {
      LogError(text);
    }
    return OkStatus();
  }

 private:
  static Status Append(const std::string& path, const std::string& text) {
    FILE* file = std::fopen(path.c_str(), "ae");
    if (file == nullptr) return NotFound("cannot open ", path, " to print into");
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written) return Internal("cannot write to ", path);
    return OkStatus();
  }

  std::string stream_ = "stderr";
  std::string end_;
};

// Seconds since 1970.
class Timestamp final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kDouble, Shape()));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    out.mutable_values<double>()[0] =
        std::chrono::duration_cast<std::chrono::microseconds>(now).count() / 1e6;
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterLoggingKernels(KernelRegistry& kernels) {
  kernels.Add<Assert>("Assert", kCpu);
  kernels.Add<Print>("Print", kCpu);
  kernels.Add<PrintV2>("PrintV2", kCpu);
  kernels.Add<Timestamp>("Timestamp", kCpu);
}

}  // namespace tensorfleet::portable
