// CheckNumerics: NaN and infinity as errors.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/kernels/cpu/elementwise.h"

namespace tensorfleet::cpu {
namespace {

struct Anomalies {
  bool nan = false, positive_infinity = false, negative_infinity = false;
};

template <typename T>
Anomalies FindAnomalies(const T* x, int64_t n) {
  Anomalies found;
  for (int64_t i = 0; i < n; ++i) {
    const Widened<T> value = static_cast<Widened<T>>(x[i]);
    if (std::isnan(value)) found.nan = true;
    if (std::isinf(value)) (value > 0 ? found.positive_infinity : found.negative_infinity) = true;
  }
  return found;
}

template <typename T>
bool AllFinite(const T* x, int64_t n) {
  // What is not finite makes x - x NaN, which stays in the sum.
  Widened<T> sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Widened<T> value = static_cast<Widened<T>>(x[i]);
    sum += value - value;
  }
  return sum == 0;
}

template <typename T>
class CheckNumerics final : public Kernel {
 public:
  explicit CheckNumerics(KernelInit& init) : tells_signs_(init.node().op() == "CheckNumericsV2") {
    init.Get("message", &message_);
  }
  Status Compute(KernelContext& ctx) const override {
    const Tensor& in = ctx.input(0);
    const T* x = in.values<T>().data();
    if (!AllFinite(x, in.num_elements())) {
      return InvalidArgument(message_, " : Tensor had ",
                             Describe(FindAnomalies(x, in.num_elements())), " values");
    }
    ctx.SetOutput(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  std::string Describe(const Anomalies& found) const {
    const bool infinity = found.positive_infinity || found.negative_infinity;
    std::vector<std::string> names;
    if (tells_signs_) {
      if (found.negative_infinity) names.push_back("-Inf");
      if (found.positive_infinity) names.push_back("+Inf");
    } else if (infinity) {
      names.push_back("Inf");
    }
    if (found.nan) names.push_back("NaN");
    if (names.size() < 3) return absl::StrJoin(names, " and ");
    return absl::StrCat(names[0], ", ", names[1], ", and ", names[2]);
  }

  const bool tells_signs_;
  std::string message_;
};

}  // namespace

void RegisterCheckNumericsKernels(KernelRegistry& r) {
  AddForTypes<CheckNumerics>(r, "CheckNumerics", Floats());
  AddForTypes<CheckNumerics>(r, "CheckNumericsV2", Floats());
}

}  // namespace tensorfleet::cpu
