// Optimizers' updates, in the order of operations of runtime/kernels/cpu/training/apply_steps.h.
// Half and bfloat16 are computed in float and rounded once, as there. The sparse forms do the same
// with the rows that indices name.
#include "absl/strings/match.h"
#include "runtime/pjrt/lower/indices.h"

namespace tensorfleet::pjrt {
namespace {

// The variables come first, then scalars and, among them, the gradient and the indices.
class Apply {
 public:
  Apply(LoweringContext& ctx, int num_variables)
      : ctx_(ctx), b(ctx.hlo()), num_variables_(num_variables) {}

  Status Load() {
    const std::vector<ArgSpec>& inputs = ctx_.node().schema().inputs;
    for (int i = num_variables_; i < static_cast<int>(inputs.size()); ++i) {
      const std::string& name = inputs[i].name;
      if (name == "grad" || name == "delta") {
        gradient_ = i;
      } else if (name == "indices") {
        indices_ = i;
      } else {
        if (ctx_.shape(i).rank() != 0) return Unimplemented("a rate that is no scalar");
        scalars.push_back(ctx_.input(i));
        names_.push_back(name);
      }
    }
    g = Wide(ctx_.input(gradient_));
    for (Hlo& scalar : scalars) scalar = b.Convert(scalar, g.dtype);
    for (int i = 0; i < num_variables_; ++i) {
      TFLEET_ASSIGN_OR_RETURN(const Hlo value, ctx_.Read(i));
      if (value.dtype != ctx_.dtype(gradient_) || (i > 0 && value.shape != values_[0].shape)) {
        return Unimplemented("variables of different shapes or types");
      }
      values_.push_back(value);
    }
    TFLEET_RETURN_IF_ERROR(indices_ < 0 ? CheckDense() : FindRows());
    for (const Hlo& value : values_) {
      v.push_back(Wide(indices_ < 0 ? value : b.Gather(value, rows_, {0}, 0, 0)));
    }
    RefuseSigns();
    return OkStatus();
  }
  void Store() {
    const DType dtype = ctx_.dtype(gradient_);
    for (int i = 0; i < num_variables_; ++i) {
      const Hlo next = b.Convert(v[i], dtype);
      if (indices_ < 0) {
        ctx_.Write(i, next);
      } else {
        ctx_.WriteGuarded(i, b.Scatter("second", values_[i], GuardedIndices(ctx_, rows_), next,
                                       /*are_unique=*/false));
      }
    }
  }

  // Scalar `s` at every element.
  Hlo All(const Hlo& s) { return s.shape == g.shape ? s : b.BroadcastTo(s, g.shape); }
  Hlo All(int i) { return All(scalars[i]); }
  Hlo Full(double number) { return b.Full(g.dtype, g.shape, number); }
  Hlo Rest(int i) { return All(b.Sub(b.Scalar(g.dtype, 1), scalars[i])); }
  Hlo Root(const Hlo& x) { return b.Unary("sqrt", x); }
  // `size` with the sign of x.
  Hlo Signed(const Hlo& size, const Hlo& x) {
    return b.Select(b.Compare("LT", x, Full(0)), b.Unary("negate", size), size);
  }
  // 1, 0 or -1; 0 of NaN.
  Hlo SignOf(const Hlo& x) {
    const Hlo below = b.Select(b.Compare("LT", x, Full(0)), Full(-1), Full(0));
    return b.Select(b.Compare("GT", x, Full(0)), Full(1), below);
  }
  // x, or y where that is larger.
  Hlo Larger(const Hlo& x, const Hlo& y) { return b.Select(b.Compare("LT", x, y), y, x); }
  // What is left of x when it is drawn towards 0 by `by`, where `limit` is above 0.
  Hlo Shrunk(const Hlo& x, const Hlo& by, const Hlo& limit) {
    const Hlo rest = b.Sub(b.Unary("abs", x), by);
    const Hlo shrunk = b.Select(b.Compare("GT", rest, Full(0)), Signed(rest, x), Full(0));
    return b.Select(b.Compare("GT", limit, Full(0)), shrunk, x);
  }
  bool Flag(const char* attr) const { return ctx_.BoolAttr(attr); }

 private:
  Hlo Wide(const Hlo& x) { return b.Convert(x, AccumulatorType(x.dtype)); }

  Status CheckDense() const {
    if (values_[0].shape == ctx_.shape(gradient_)) return OkStatus();
    return Unimplemented("a gradient of another shape");
  }
  // A row that is named twice is changed twice, one after the other: by the kernel.
  Status FindRows() {
    const Shape &var = values_[0].shape, &by = ctx_.shape(indices_);
    if (var.rank() < 1 || by.rank() != 1) return Unimplemented("indices that are no vector");
    TFLEET_ASSIGN_OR_RETURN(const Shape wanted, by.Concatenated(var.SubShape(1, var.rank())));
    if (g.shape != wanted) return Unimplemented("a gradient of another shape");
    TFLEET_ASSIGN_OR_RETURN(rows_, CheckedIndices(ctx_, indices_, {var.dim(0)}, /*are_rows=*/true));
    RefuseRepeated(ctx_, rows_, {var.dim(0)});
    return OkStatus();
  }
  // Some kernels take no rate that would turn a step round. NaN is on neither side of zero.
  void RefuseSigns() {
    const std::string& op = ctx_.node().op();
    if (!absl::StrContains(op, "ApplyProximalAdagrad") &&
        !absl::StrContains(op, "SparseApplyFtrl")) {
      return;
    }
    for (size_t i = 0; i < scalars.size(); ++i) {
      const std::string& name = names_[i];
      const char* good = name == "lr"         ? (Flag("multiply_linear_by_lr") ? "GE" : "GT")
                         : name == "lr_power" ? "LE"
                                              : "GE";
      const Hlo is_good = b.Compare(good, scalars[i], b.Scalar(g.dtype, 0));
      ctx_.faults().Add(b.Unary("not", is_good));
    }
  }

  LoweringContext& ctx_;

 public:
  HloBuilder& b;
  std::vector<Hlo> v, scalars;
  Hlo g;

 private:
  const int num_variables_;
  int gradient_ = -1, indices_ = -1;
  std::vector<std::string> names_;
  std::vector<Hlo> values_;  // of the variables, whole
  Hlo rows_;
};

// var; alpha delta
Status GradientDescent(LoweringContext& ctx) {
  Apply a(ctx, 1);
  TFLEET_RETURN_IF_ERROR(a.Load());
  a.v[0] = a.b.Sub(a.v[0], a.b.Mul(a.g, a.All(0)));
  a.Store();
  return OkStatus();
}

// var accum; lr grad momentum
Status Momentum(LoweringContext& ctx) {
  Apply a(ctx, 2);
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
  Apply a(ctx, 2);
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
  Apply a(ctx, 3);
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

// var m v; beta1_power lr beta1 beta2 epsilon
Status AdaMax(LoweringContext& ctx) {
  Apply a(ctx, 3);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo rate = b.Div(a.scalars[1], b.Sub(b.Scalar(a.g.dtype, 1), a.scalars[0]));
  a.v[1] = b.Add(a.v[1], b.Mul(b.Sub(a.g, a.v[1]), a.Rest(2)));
  a.v[2] = a.Larger(b.Mul(a.All(3), a.v[2]), b.Unary("abs", a.g));
  a.v[0] = b.Sub(a.v[0], b.Mul(a.All(rate), b.Div(a.v[1], b.Add(a.v[2], a.All(4)))));
  a.Store();
  return OkStatus();
}

// var m v vhat; beta1_power beta2_power lr beta1 beta2 epsilon
Status Amsgrad(LoweringContext& ctx) {
  Apply a(ctx, 4);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo one = b.Scalar(a.g.dtype, 1);
  const Hlo alpha =
      b.Div(b.Mul(a.scalars[2], a.Root(b.Sub(one, a.scalars[1]))), b.Sub(one, a.scalars[0]));
  a.v[1] = b.Add(a.v[1], b.Mul(b.Sub(a.g, a.v[1]), a.Rest(3)));
  a.v[2] = b.Add(a.v[2], b.Mul(b.Sub(b.Mul(a.g, a.g), a.v[2]), a.Rest(4)));
  a.v[3] = a.Larger(a.v[3], a.v[2]);
  a.v[0] = b.Sub(a.v[0], b.Div(b.Mul(a.v[1], a.All(alpha)), b.Add(a.Root(a.v[3]), a.All(5))));
  a.Store();
  return OkStatus();
}

// var m; lr alpha sign_decay beta
Status AddSign(LoweringContext& ctx) {
  Apply a(ctx, 2);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  a.v[1] = b.Add(b.Mul(a.v[1], a.All(3)), b.Mul(a.g, a.Rest(3)));
  const Hlo agreement = b.Mul(a.All(2), b.Mul(a.SignOf(a.g), a.SignOf(a.v[1])));
  a.v[0] = b.Sub(a.v[0], b.Mul(b.Mul(a.All(0), b.Add(a.All(1), agreement)), a.g));
  a.Store();
  return OkStatus();
}

// var m; lr logbase sign_decay beta
Status PowerSign(LoweringContext& ctx) {
  Apply a(ctx, 2);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  a.v[1] = b.Add(b.Mul(a.v[1], a.All(3)), b.Mul(a.g, a.Rest(3)));
  const Hlo decay = b.Mul(a.All(1), a.All(2));
  const Hlo power = b.Mul(decay, b.Mul(a.SignOf(a.g), a.SignOf(a.v[1])));
  a.v[0] = b.Sub(a.v[0], b.Mul(b.Mul(a.All(0), b.Unary("exponential", power)), a.g));
  a.Store();
  return OkStatus();
}

// var accum; lr grad
Status Adagrad(LoweringContext& ctx) {
  Apply a(ctx, 2);
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
  Apply a(ctx, 2);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  if (a.Flag("update_slots")) a.v[1] = b.Add(a.v[1], b.Mul(a.g, a.g));
  a.v[0] = b.Sub(a.v[0], b.Div(b.Mul(a.g, a.All(0)), b.Add(a.Root(a.v[1]), a.All(1))));
  a.Store();
  return OkStatus();
}

// var ms mom; lr rho momentum epsilon grad
Status RMSProp(LoweringContext& ctx) {
  Apply a(ctx, 3);
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
  Apply a(ctx, 3);
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

// var gradient_accumulator gradient_squared_accumulator; lr l1 l2 global_step
Status AdagradDA(LoweringContext& ctx) {
  Apply a(ctx, 3);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo l1 = a.All(b.Mul(a.scalars[1], a.scalars[3]));
  const Hlo l2 = a.All(b.Mul(b.Mul(a.scalars[2], a.scalars[3]), a.scalars[0]));
  a.v[1] = b.Add(a.v[1], a.g);
  a.v[2] = b.Add(a.v[2], b.Mul(a.g, a.g));
  const Hlo sum = a.Shrunk(a.v[1], l1, l1);
  a.v[0] = b.Div(b.Mul(b.Unary("negate", a.All(0)), sum), b.Add(l2, a.Root(a.v[2])));
  a.Store();
  return OkStatus();
}

// var mg ms mom; lr rho momentum epsilon
Status CenteredRMSProp(LoweringContext& ctx) {
  Apply a(ctx, 4);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  a.v[2] = b.Add(a.v[2], b.Mul(b.Sub(b.Mul(a.g, a.g), a.v[2]), a.Rest(1)));
  a.v[1] = b.Add(a.v[1], b.Mul(b.Sub(a.g, a.v[1]), a.Rest(1)));
  const Hlo spread = b.Add(b.Sub(a.v[2], b.Mul(a.v[1], a.v[1])), a.All(3));
  a.v[3] = b.Add(b.Mul(a.v[3], a.All(2)), b.Div(b.Mul(a.g, a.All(0)), a.Root(spread)));
  a.v[0] = b.Sub(a.v[0], a.v[3]);
  a.Store();
  return OkStatus();
}

// var; alpha l1 l2
Status ProximalGradientDescent(LoweringContext& ctx) {
  Apply a(ctx, 1);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo alpha = a.All(0), l1 = a.All(1), l2 = a.All(2);
  const Hlo next = b.Sub(a.v[0], b.Mul(a.g, alpha));
  a.v[0] = b.Div(a.Shrunk(next, b.Mul(alpha, l1), l1), b.Add(b.Mul(l2, alpha), 1));
  a.Store();
  return OkStatus();
}

// var accum; lr l1 l2
Status ProximalAdagrad(LoweringContext& ctx) {
  Apply a(ctx, 2);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const Hlo l1 = a.All(1), l2 = a.All(2);
  a.v[1] = b.Add(a.v[1], b.Mul(a.g, a.g));
  const Hlo rate = b.Mul(a.All(0), b.Div(a.Full(1), a.Root(a.v[1])));
  const Hlo next = b.Sub(a.v[0], b.Mul(a.g, rate));
  a.v[0] = b.Div(a.Shrunk(next, b.Mul(rate, l1), l1), b.Add(b.Mul(rate, l2), 1));
  a.Store();
  return OkStatus();
}

// var accum linear; lr l1 l2 [l2_shrinkage] lr_power
Status Ftrl(LoweringContext& ctx) {
  Apply a(ctx, 3);
  TFLEET_RETURN_IF_ERROR(a.Load());
  HloBuilder& b = a.b;
  const bool has_shrinkage = a.scalars.size() == 5;
  const bool times_lr = a.Flag("multiply_linear_by_lr");
  const Hlo lr = a.All(0), l1 = a.All(1), l2 = a.All(2);
  const Hlo power = a.All(has_shrinkage ? 4 : 3);
  const auto root = [&](const Hlo& x) {
    const Hlo is_usual = b.Compare("EQ", power, a.Full(-0.5));
    return b.Select(is_usual, a.Root(x), b.Binary("power", x, b.Unary("negate", power)));
  };
  Hlo shrunk = a.g;
  if (has_shrinkage) shrunk = b.Add(a.g, b.Mul(b.Mul(a.All(3), 2), a.v[0]));
  const Hlo accum = b.Add(a.v[1], b.Mul(a.g, a.g));
  const Hlo next = root(accum), change = b.Sub(next, root(a.v[1]));
  const Hlo pull = times_lr ? b.Sub(b.Mul(shrunk, lr), b.Mul(change, a.v[0]))
                            : b.Sub(shrunk, b.Mul(b.Div(change, lr), a.v[0]));
  a.v[2] = b.Add(a.v[2], pull);
  const Hlo limit = times_lr ? b.Mul(l1, lr) : l1;
  const Hlo rate =
      times_lr ? b.Add(next, b.Mul(b.Mul(l2, 2), lr)) : b.Add(b.Div(next, lr), b.Mul(l2, 2));
  const Hlo value = b.Div(b.Sub(a.Signed(limit, a.v[2]), a.v[2]), rate);
  const Hlo is_above = b.Compare("GT", b.Unary("abs", a.v[2]), limit);
  a.v[0] = b.Select(is_above, value, a.Full(0));
  a.v[1] = accum;
  a.Store();
  return OkStatus();
}

}  // namespace

void AddOptimizerLowerings(LoweringRegistry& r) {
  const auto add = [&r](const std::string& op, Lowering lower) {
    const std::vector<DType>& floats = FloatTypes();
    if (absl::StrContains(op, "SparseApply")) {
      r.Add(op, lower, {{"T", floats}, {"Tindices", IndexTypes()}});
    } else {
      r.Add(op, lower, {{"T", floats}});
    }
  };
  const std::pair<const char*, Lowering> kDenseOnly[] = {{"GradientDescent", GradientDescent},
                                                         {"Adam", Adam},
                                                         {"AdaMax", AdaMax},
                                                         {"AddSign", AddSign},
                                                         {"PowerSign", PowerSign}};
  const std::pair<const char*, Lowering> kBothForms[] = {
      {"Momentum", Momentum},
      {"Adagrad", Adagrad},
      {"AdagradV2", AdagradV2},
      {"AdagradDA", AdagradDA},
      {"RMSProp", RMSProp},
      {"CenteredRMSProp", CenteredRMSProp},
      {"Adadelta", Adadelta},
      {"Ftrl", Ftrl},
      {"FtrlV2", Ftrl},
      {"ProximalGradientDescent", ProximalGradientDescent},
      {"ProximalAdagrad", ProximalAdagrad}};
  for (const char* owner : {"", "Resource"}) {
    for (const auto& [name, lower] : kDenseOnly) add(absl::StrCat(owner, "Apply", name), lower);
    for (const auto& [name, lower] : kBothForms) {
      add(absl::StrCat(owner, "Apply", name), lower);
      add(absl::StrCat(owner, "SparseApply", name), lower);
    }
  }
  add("ResourceApplyAdamWithAmsgrad", Amsgrad);
  add("ResourceApplyKerasMomentum", KerasMomentum);
  add("ResourceSparseApplyKerasMomentum", KerasMomentum);
}

}  // namespace tensorfleet::pjrt
