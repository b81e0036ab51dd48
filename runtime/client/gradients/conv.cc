// Gradients of convolutions and pools, and of their gradients.
#include "runtime/client/gradients/context.h"
#include "runtime/client/gradients/families.h"
#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using C = GradientContext;

// The attributes that a convolution and its two gradients share.
template <typename Attrs>
Attrs Window(C& c) {
  Attrs attrs;
  attrs.explicit_paddings = c.Attr<std::vector<int64_t>>("explicit_paddings");
  attrs.data_format = c.Attr<std::string>("data_format");
  attrs.dilations = c.Attr<std::vector<int64_t>>("dilations");
  return attrs;
}

std::vector<int64_t> Strides(C& c) { return c.Attr<std::vector<int64_t>>("strides"); }
std::vector<int64_t> Ksize(C& c) { return c.Attr<std::vector<int64_t>>("ksize"); }
std::string Padding(C& c) { return c.Attr<std::string>("padding"); }
std::string Format(C& c) { return c.Attr<std::string>("data_format"); }

// A convolution is linear in its image and in its filter; the three ops of a kind are each other's
// gradients.
struct Conv2DKind {
  static Output Forward(C& c, const Output& x, const Output& filter) {
    return ops::Conv2D(c.scope(), x, filter, Strides(c), Padding(c), Window<ops::Conv2DAttrs>(c));
  }
  static Output ToInput(C& c, const Output& sizes, const Output& filter, const Output& g) {
    return ops::Conv2DBackpropInput(c.scope(), sizes, filter, g, Strides(c), Padding(c),
                                    Window<ops::Conv2DBackpropInputAttrs>(c));
  }
  static Output ToFilter(C& c, const Output& x, const Output& sizes, const Output& g) {
    return ops::Conv2DBackpropFilter(c.scope(), x, sizes, g, Strides(c), Padding(c),
                                     Window<ops::Conv2DBackpropFilterAttrs>(c));
  }
};

struct DepthwiseKind {
  static Output Forward(C& c, const Output& x, const Output& filter) {
    return ops::DepthwiseConv2dNative(c.scope(), x, filter, Strides(c), Padding(c),
                                      Window<ops::DepthwiseConv2dNativeAttrs>(c));
  }
  static Output ToInput(C& c, const Output& sizes, const Output& filter, const Output& g) {
    return ops::DepthwiseConv2dNativeBackpropInput(
        c.scope(), sizes, filter, g, Strides(c), Padding(c),
        Window<ops::DepthwiseConv2dNativeBackpropInputAttrs>(c));
  }
  static Output ToFilter(C& c, const Output& x, const Output& sizes, const Output& g) {
    return ops::DepthwiseConv2dNativeBackpropFilter(
        c.scope(), x, sizes, g, Strides(c), Padding(c),
        Window<ops::DepthwiseConv2dNativeBackpropFilterAttrs>(c));
  }
};

// Of (input, filter).
template <typename Kind>
void Conv(C& c) {
  if (c.wants(0)) c.Set(0, Kind::ToInput(c, c.ShapeOfX(0), c.x(1), c.g()));
  if (c.wants(1)) c.Set(1, Kind::ToFilter(c, c.x(0), c.ShapeOfX(1), c.g()));
}
// Of (input_sizes, filter, out_backprop).
template <typename Kind>
void ConvToInput(C& c) {
  if (c.wants(1)) c.Set(1, Kind::ToFilter(c, c.g(), c.ShapeOfX(1), c.x(2)));
  if (c.wants(2)) c.Set(2, Kind::Forward(c, c.g(), c.x(1)));
}
// Of (input, filter_sizes, out_backprop).
template <typename Kind>
void ConvToFilter(C& c) {
  if (c.wants(0)) c.Set(0, Kind::ToInput(c, c.ShapeOfX(0), c.g(), c.x(2)));
  if (c.wants(2)) c.Set(2, Kind::Forward(c, c.x(0), c.g()));
}

void MaxPool(C& c) {
  c.Set(0, ops::MaxPoolGrad(c.scope(), c.x(0), c.y(0), c.g(), Ksize(c), Strides(c), Padding(c),
                            {.explicit_paddings = c.Attr<std::vector<int64_t>>("explicit_paddings"),
                             .data_format = Format(c)}));
}
// Of (input, ksize, strides).
void MaxPoolV2(C& c) {
  c.Set(0, ops::MaxPoolGradV2(c.scope(), c.x(0), c.y(0), c.g(), c.x(1), c.x(2), Padding(c),
                              {.data_format = Format(c)}));
}
void MaxPoolWithArgmax(C& c) {
  c.Set(0, ops::MaxPoolGradWithArgmax(
               c.scope(), c.x(0), c.g(0), c.y(1), Ksize(c), Strides(c), Padding(c),
               {.include_batch_in_index = c.Attr<bool>("include_batch_in_index")}));
}

// Of (orig_input, orig_output, grad): which element was the largest does not change.
void MaxPoolGrad(C& c) {
  if (Padding(c) == "EXPLICIT") {
    c.scope().Fail(Unimplemented("the gradient of MaxPoolGrad with explicit padding (node '",
                                 c.node().name(), "') is not there"));
    return;
  }
  c.Set(0, Of(ops::ZerosLike, c.x(0)));
  c.Set(1, Of(ops::ZerosLike, c.x(1)));
  c.Set(2, ops::MaxPoolGradGrad(c.scope(), c.x(0), c.x(1), c.g(), Ksize(c), Strides(c), Padding(c),
                                {.data_format = Format(c)}));
}
void MaxPoolGradV2(C& c) {
  c.Set(0, Of(ops::ZerosLike, c.x(0)));
  c.Set(1, Of(ops::ZerosLike, c.x(1)));
  c.Set(2, ops::MaxPoolGradGradV2(c.scope(), c.x(0), c.x(1), c.g(), c.x(3), c.x(4), Padding(c),
                                  {.data_format = Format(c)}));
}
void MaxPoolGradGrad(C& c) {
  c.Set(0, Of(ops::ZerosLike, c.x(0)));
  c.Set(1, Of(ops::ZerosLike, c.x(1)));
  c.Set(2, ops::MaxPoolGrad(c.scope(), c.x(0), c.x(1), c.g(), Ksize(c), Strides(c), Padding(c),
                            {.data_format = Format(c)}));
}
void MaxPoolGradGradV2(C& c) {
  c.Set(0, Of(ops::ZerosLike, c.x(0)));
  c.Set(1, Of(ops::ZerosLike, c.x(1)));
  c.Set(2, ops::MaxPoolGradV2(c.scope(), c.x(0), c.x(1), c.g(), c.x(3), c.x(4), Padding(c),
                              {.data_format = Format(c)}));
}

void AvgPool(C& c) {
  c.Set(0, ops::AvgPoolGrad(c.scope(), c.ShapeOfX(0), c.g(), Ksize(c), Strides(c), Padding(c),
                            {.data_format = Format(c)}));
}
// Of (orig_input_shape, grad).
void AvgPoolGrad(C& c) {
  c.Set(1, ops::AvgPool(c.scope(), c.g(), Ksize(c), Strides(c), Padding(c),
                        {.data_format = Format(c)}));
}

}  // namespace

void RegisterConvGradients(GradientRegistry& registry) {
  registry.Add("Conv2D", Conv<Conv2DKind>);
  registry.Add("Conv2DBackpropInput", ConvToInput<Conv2DKind>);
  registry.Add("Conv2DBackpropFilter", ConvToFilter<Conv2DKind>);
  registry.Add("DepthwiseConv2dNative", Conv<DepthwiseKind>);
  registry.Add("DepthwiseConv2dNativeBackpropInput", ConvToInput<DepthwiseKind>);
  registry.Add("DepthwiseConv2dNativeBackpropFilter", ConvToFilter<DepthwiseKind>);
  registry.Add("MaxPool", MaxPool);
  registry.Add("MaxPoolV2", MaxPoolV2);
  registry.Add("MaxPoolWithArgmax", MaxPoolWithArgmax);
  registry.Add("MaxPoolGrad", MaxPoolGrad);
  registry.Add("MaxPoolGradV2", MaxPoolGradV2);
  registry.Add("MaxPoolGradGrad", MaxPoolGradGrad);
  registry.Add("MaxPoolGradGradV2", MaxPoolGradGradV2);
  registry.Add("AvgPool", AvgPool);
  registry.Add("AvgPoolGrad", AvgPoolGrad);
  registry.AddMissing("MaxPoolGradWithArgmax",
                      "second derivatives of MaxPoolWithArgmax are not there; use MaxPool");
}

}  // namespace tensorfleet
