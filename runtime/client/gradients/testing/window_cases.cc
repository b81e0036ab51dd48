#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;
const std::vector<int64_t> kStrides = {1, 2, 1, 1};
const std::vector<int64_t> kWindow = {1, 2, 2, 1};

void AddConvolutions(std::vector<GradientCase>& cases) {
  const Shape image({2, 4, 3, 2}), filter({2, 2, 2, 3}), depthwise({2, 2, 2, 2});
  for (const char* padding : {"SAME", "VALID"}) {
    const int64_t columns = std::string(padding) == "SAME" ? 3 : 2;
    const Shape out({2, 2, columns, 3}), deep_out({2, 2, columns, 4});
    const auto add = [&](const char* op, const Shape& a, const Shape& b, auto build) {
      cases.push_back({op,
                       {a, b},
                       [=](const Scope& s, const Xs& x) { return Xs{build(s, x)}; },
                       -2,
                       2,
                       padding});
    };
    add("Conv2D", image, filter,
        [=](const Scope& s, const Xs& x) { return ops::Conv2D(s, x[0], x[1], kStrides, padding); });
    add("Conv2DBackpropInput", filter, out, [=](const Scope& s, const Xs& x) {
      return ops::Conv2DBackpropInput(s, Ints(s, image.dims()), x[0], x[1], kStrides, padding);
    });
    add("Conv2DBackpropFilter", image, out, [=](const Scope& s, const Xs& x) {
      return ops::Conv2DBackpropFilter(s, x[0], Ints(s, filter.dims()), x[1], kStrides, padding);
    });
    // Depthwise strides are the same in both directions.
    const std::vector<int64_t> square = {1, 1, 1, 1};
    const Shape deep_same({2, std::string(padding) == "SAME" ? 4 : 3, columns, 4});
    add("DepthwiseConv2dNative", image, depthwise, [=](const Scope& s, const Xs& x) {
      return ops::DepthwiseConv2dNative(s, x[0], x[1], square, padding);
    });
    add("DepthwiseConv2dNativeBackpropInput", depthwise, deep_same,
        [=](const Scope& s, const Xs& x) {
          return ops::DepthwiseConv2dNativeBackpropInput(s, Ints(s, image.dims()), x[0], x[1],
                                                         square, padding);
        });
    add("DepthwiseConv2dNativeBackpropFilter", image, deep_same, [=](const Scope& s, const Xs& x) {
      return ops::DepthwiseConv2dNativeBackpropFilter(s, x[0], Ints(s, depthwise.dims()), x[1],
                                                      square, padding);
    });
  }
}

void AddPools(std::vector<GradientCase>& cases) {
  const Shape image({1, 4, 3, 2}), out({1, 2, 2, 2});
  const auto one = [&](const char* op, const Shape& shape, auto fn) {
    cases.push_back({op, {shape}, [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0])}; }});
  };
  const auto window = [](const Scope& s) { return Ints(s, kWindow); };
  const auto strides = [](const Scope& s) { return Ints(s, kStrides); };
  one("MaxPool", image, [](const Scope& s, const Output& x) {
    return ops::MaxPool(s, x, kWindow, kStrides, "VALID");
  });
  one("MaxPoolV2", image, [=](const Scope& s, const Output& x) {
    return ops::MaxPoolV2(s, x, window(s), strides(s), "SAME");
  });
  one("MaxPoolWithArgmax", image, [](const Scope& s, const Output& x) {
    return ops::MaxPoolWithArgmax(s, x, kWindow, kStrides, "VALID").output;
  });
  one("AvgPool", image, [](const Scope& s, const Output& x) {
    return ops::AvgPool(s, x, kWindow, kStrides, "SAME");
  });
  one("AvgPoolGrad", out, [](const Scope& s, const Output& x) {
    return ops::AvgPoolGrad(s, Ints(s, {1, 4, 3, 2}), x, kWindow, kStrides, "VALID");
  });
  // In their third argument, which is linear; the first two say only where the largest are.
  const auto gradient = [&](const char* op, const Shape& of, auto fn) {
    cases.push_back({op, {image, of}, [fn](const Scope& s, const Xs& x) {
                       const Output y = ops::MaxPool(s, x[0], kWindow, kStrides, "VALID");
                       return Xs{fn(s, ops::StopGradient(s, x[0]), ops::StopGradient(s, y), x[1])};
                     }});
  };
  gradient("MaxPoolGrad", out,
           [](const Scope& s, const Output& x, const Output& y, const Output& g) {
             return ops::MaxPoolGrad(s, x, y, g, kWindow, kStrides, "VALID");
           });
  gradient("MaxPoolGradV2", out,
           [=](const Scope& s, const Output& x, const Output& y, const Output& g) {
             return ops::MaxPoolGradV2(s, x, y, g, window(s), strides(s), "VALID");
           });
  gradient("MaxPoolGradGrad", image,
           [](const Scope& s, const Output& x, const Output& y, const Output& g) {
             return ops::MaxPoolGradGrad(s, x, y, g, kWindow, kStrides, "VALID");
           });
  gradient("MaxPoolGradGradV2", image,
           [=](const Scope& s, const Output& x, const Output& y, const Output& g) {
             return ops::MaxPoolGradGradV2(s, x, y, g, window(s), strides(s), "VALID");
           });
}

}  // namespace

std::vector<GradientCase> WindowCases() {
  std::vector<GradientCase> cases;
  AddConvolutions(cases);
  AddPools(cases);
  return cases;
}

}  // namespace tensorfleet
