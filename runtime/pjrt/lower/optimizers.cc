// Optimizers' updates, in the order of operations of runtime/kernels/cpu/training/apply_steps.h.
// Half and bfloat16 are computed in float and rounded once, as there.
#include "runtime/pjrt/lower/lowering.h"

namespace tensorfleet::pjrt {
namespace {

// The variables come first, then scalars and, among them, the gradient.
class Apply {
 public:
  Apply(LoweringContext& ctx, int num_variables, int gradient)
      : ctx_(ctx), b(ctx.hlo()), num_variables_(num_variables), gradient_(gradient) {}

  Status Load() {
    for (int i = 0; i < num_variables_; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx_.Read(i));
      if (value.shape != ctx_.shape(gradient_) || value.dtype != ctx_.dtype(gradient_)) {
        return Unimplemented("a gradient of another shape or type");
      }
      dtype_ = value.dtype;
      v.push_back(Wide(value));
    }
    g = Wide(ctx_.input(gradient_));
    for (int i = num_variables_; i < ctx_.num_inputs(); ++i) {
      if (i == gradient_) continue;
      if (ctx_.shape(i).num_elements() != 1) return Unimplemented("a rate that is no scalar");
      TFLEET_ASSIGN_OR_RETURN(const Hlo scalar, ctx_.ScalarInput(i));
      scalars.push_back(Wide(scalar));
    }
    return OkStatus();
  }
  void Store() {
    for (int i = 0; i < num_variables_; ++i) ctx_.Write(i, b.Convert(v[i], dtype_));
  }

  // Scalar `s` at every element.
  Hlo All(const Hlo& s) { return s.shape == g.shape ? s : b.BroadcastTo(s, g.shape); }
  Hlo All(int i) { return All(scalars[i]); }
  Hlo Rest(int i) { return All(b.Sub(b.Scalar(g.dtype, 1), scalars[i])); }
  Hlo Root(const Hlo& x) { return b.Unary("sqrt", x); }
  bool Flag(const char* attr) const { return ctx_.BoolAttr(attr); }

 private:
  Hlo Wide(const Hlo& x) { return b.Convert(x, AccumulatorType(x.dtype)); }

  LoweringContext& ctx_;

 public:
  HloBuilder& b;
  std::vector<Hlo> v, scalars;
  Hlo g;

 private:
  const int num_variables_, gradient_;
  DType dtype_ = DType::kInvalid;
};

// var; alpha delta
Status GradientDescent(LoweringContext& ctx) {
  Apply a(ctx, 1, 2);
  TFLEET_RETURN_IF_ERROR(a.Load());
  a.v[0] = a.b.Sub(a.v[0], a.b.Mul(a.g, a.All(0)));
  a.Store();
  return OkStatus();
}

// var accum; lr grad momentum
Status Momentum(LoweringContext& ctx) {
  Apply a(ctx, 2, 3);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo lr = a.All(0), momentum = a.All(1);
  a.v[1] = b.Add(b.Mul(a.v[1], momentum), a.g);
  const Hlo step = a.Flag("use_nesterov")
                       ? b.Add(b.Mul(a.g, lr), b.Mul(b.Mul(a.v[1], momentum), lr))
                       : b.Mul(a.v[1], lr);
  a.v[0] = b.Sub(a.v[0], step);
  a.Store();
  return OkStatus();
}

// var accum; lr grad momentum
Status KerasMomentum(LoweringContext& ctx) {
  Apply a(ctx, 2, 3);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo pull = b.Mul(a.g, a.All(0)), momentum = a.All(1);
  a.v[1] = b.Sub(b.Mul(a.v[1], momentum), pull);
  const Hlo step = a.Flag("use_nesterov") ? b.Sub(b.Mul(a.v[1], momentum), pull) : a.v[1];
  a.v[0] = b.Add(a.v[0], step);
  a.Store();
  return OkStatus();
}

// var m v; beta1_power beta2_power lr beta1 beta2 epsilon grad
Status Adam(LoweringContext& ctx) {
  Apply a(ctx, 3, 9);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo one = b.Scalar(a.g.dtype, 1);
  const Hlo alpha =
      b.Div(b.Mul(a.scalars[2], a.Root(b.Sub(one, a.scalars[1]))), b.Sub(one, a.scalars[0]));
  a.v[1] = b.Add(a.v[1], b.Mul(b.Sub(a.g, a.v[1]), a.Rest(3)));
  a.v[2] = b.Add(a.v[2], b.Mul(b.Sub(b.Mul(a.g, a.g), a.v[2]), a.Rest(4)));
  const Hlo m =
      a.Flag("use_nesterov") ? b.Add(b.Mul(a.g, a.Rest(3)), b.Mul(a.All(3), a.v[1])) : a.v[1];
  a.v[0] = b.Sub(a.v[0], b.Div(b.Mul(m, a.All(alpha)), b.Add(a.Root(a.v[2]), a.All(5))));
  a.Store();
  return OkStatus();
}

// var accum; lr grad
Status Adagrad(LoweringContext& ctx) {
  Apply a(ctx, 2, 3);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  if (a.Flag("update_slots")) a.v[1] = b.Add(a.v[1], b.Mul(a.g, a.g));
  const Hlo one = b.Full(a.g.dtype, a.g.shape, 1);
  a.v[0] = b.Sub(a.v[0], b.Mul(b.Mul(a.g, a.All(0)), b.Div(one, a.Root(a.v[1]))));
  a.Store();
  return OkStatus();
}

// var accum; lr epsilon grad
Status AdagradV2(LoweringContext& ctx) {
  Apply a(ctx, 2, 4);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  if (a.Flag("update_slots")) a.v[1] = b.Add(a.v[1], b.Mul(a.g, a.g));
  a.v[0] = b.Sub(a.v[0], b.Div(b.Mul(a.g, a.All(0)), b.Add(a.Root(a.v[1]), a.All(1))));
  a.Store();
  return OkStatus();
}

// var ms mom; lr rho momentum epsilon grad
Status RMSProp(LoweringContext& ctx) {
  Apply a(ctx, 3, 7);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  a.v[1] = b.Add(a.v[1], b.Mul(b.Sub(b.Mul(a.g, a.g), a.v[1]), a.Rest(1)));
  a.v[2] =
      b.Add(b.Mul(a.v[2], a.All(2)), b.Div(b.Mul(a.g, a.All(0)), a.Root(b.Add(a.v[1], a.All(3)))));
  a.v[0] = b.Sub(a.v[0], a.v[2]);
  a.Store();
  return OkStatus();
}

// var accum accum_update; lr rho epsilon grad
Status Adadelta(LoweringContext& ctx) {
  Apply a(ctx, 3, 6);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo rho = a.All(1), rest = a.Rest(1), epsilon = a.All(2);
  const Hlo one = b.Full(a.g.dtype, a.g.shape, 1);
  a.v[1] = b.Add(b.Mul(a.v[1], rho), b.Mul(b.Mul(a.g, a.g), rest));
  const Hlo inverse = b.Div(one, a.Root(b.Add(a.v[1], epsilon)));
  const Hlo update = b.Mul(b.Mul(a.Root(b.Add(a.v[2], epsilon)), inverse), a.g);
  a.v[0] = b.Sub(a.v[0], b.Mul(update, a.All(0)));
  a.v[2] = b.Add(b.Mul(a.v[2], rho), b.Mul(b.Mul(update, update), rest));
  a.Store();
  return OkStatus();
}

}  // namespace

void AddOptimizerLowerings(LoweringRegistry& r) {
  const std::pair<const char*, Lowering> kOps[] = {{"ApplyGradientDescent", GradientDescent},
                                                   {"ApplyMomentum", Momentum},
                                                   {"ApplyAdam", Adam},
                                                   {"ApplyAdagrad", Adagrad},
                                                   {"ApplyAdagradV2", AdagradV2},
                                                   {"ApplyRMSProp", RMSProp},
                                                   {"ApplyAdadelta", Adadelta}};
  for (const auto& [op, lower] : kOps) {
    r.Add(op, lower, {{"T", FloatTypes()}});
    r.Add(absl::StrCat("Resource", op), lower, {{"T", FloatTypes()}});
  }
  r.Add("ResourceApplyKerasMomentum", KerasMomentum, {{"T", FloatTypes()}});
}

}  // namespace tensorfleet::pjrt
