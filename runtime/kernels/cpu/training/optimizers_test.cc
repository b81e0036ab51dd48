// Every optimizer against one step of TensorFlow 2.15 on the same numbers.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <Eigen/Core>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/testing/op_test.h"
#include "runtime/ops/all.h"

namespace tensorfleet {
namespace {

struct Case {
  const char* op;
  const char* flag;  // an attribute to set to `flag_value`
  bool flag_value;
  double lr_power;
  std::vector<std::vector<float>> want;  // the variable and its slots afterwards
};

// One step from kInitial with gradient {0.1, -0.2, 0.3, 0.01}; sparse ones have a third row, which
// is the first plus one, and apply the gradient's rows to rows 2 and 0.
const Case kCases[] = {
    {"ApplyGradientDescent",
     nullptr,
     true,
     -0.5,
     {{0.949999988, 2.0999999, -3.1500001, 3.99499989}}},
    {"ApplyMomentum",
     nullptr,
     true,
     -0.5,
     {{0.904999971, 2.00999999, -3.28500009, 3.81500006},
      {0.189999998, -0.0200000107, 0.570000052, 0.369999975}}},
    {"ApplyMomentum",
     "use_nesterov",
     true,
     -0.5,
     {{0.864499986, 2.10899997, -3.4065001, 3.82850003},
      {0.189999998, -0.0200000107, 0.570000052, 0.369999975}}},
    {"ApplyKerasMomentum",
     nullptr,
     true,
     -0.5,
     {{1.03999996, 2.27999997, -2.88000011, 4.35500002},
      {0.0399999954, 0.280000001, 0.120000005, 0.354999989}}},
    {"ApplyKerasMomentum",
     "use_nesterov",
     true,
     -0.5,
     {{0.986000001, 2.352, -3.04200006, 4.31449986},
      {0.0399999954, 0.280000001, 0.120000005, 0.354999989}}},
    {"ApplyAdam",
     nullptr,
     true,
     -0.5,
     {{0.929041147, 1.89636958, -3.17985463, 3.7974062},
      {0.100000001, 0.159999996, 0.300000012, 0.361000001},
      {0.495099992, 0.594400048, 0.693899989, 0.792001009}}},
    {"ApplyAdam",
     "use_nesterov",
     true,
     -0.5,
     {{0.929041147, 1.91968644, -3.17985463, 3.81710434},
      {0.100000001, 0.159999996, 0.300000012, 0.361000001},
      {0.495099992, 0.594400048, 0.693899989, 0.792001009}}},
    {"ApplyAdagrad",
     nullptr,
     true,
     -0.5,
     {{0.849244356, 2.20412421, -3.24019217, 3.99209523},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993}}},
    {"ApplyAdagrad",
     "update_slots",
     false,
     -0.5,
     {{0.841886103, 2.22360682, -3.27386141, 3.99209428},
      {0.100000001, 0.200000003, 0.300000012, 0.400000006}}},
    {"ApplyAdagradV2",
     nullptr,
     true,
     -0.5,
     {{0.849697471, 2.20370841, -3.23980832, 3.99210787},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993}}},
    {"ApplyAdagradDA",
     nullptr,
     true,
     -0.5,
     {{-0.0289303996, -0, -0.216592029, -0.124463476},
      {0.200000003, 0, 0.600000024, 0.409999996},
      {0.50999999, 0.640000045, 0.789999962, 0.800100029}}},
    {"ApplyRMSProp",
     nullptr,
     true,
     -0.5,
     {{0.376447439, 1.70325208, -3.92474151, 3.27117538},
      {0.0820000023, 0.168000013, 0.258000016, 0.32002002},
      {0.623552561, 0.296747923, 0.924741566, 0.728824735}}},
    {"ApplyCenteredRMSProp",
     nullptr,
     true,
     -0.5,
     {{0.875242114, 2.09115648, -3.27750468, 3.92117906},
      {0.100000001, 0.120000005, 0.300000012, 0.321999997},
      {0.40200001, 0.488000035, 0.578000009, 0.640020013},
      {0.124757901, -0.0911563858, 0.277504712, 0.0788209811}}},
    {"ApplyFtrl",
     nullptr,
     true,
     -0.5,
     {{-0.601315379, -0.151943669, -0.973542929, -0.518315256},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993},
      {0.569130599, 0.229262531, 1.46066332, 0.809367716}}},
    {"ApplyFtrl",
     "multiply_linear_by_lr",
     true,
     -0.5,
     {{-1.18047166, -0.660506189, -1.45663488, -1.06436455},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993},
      {0.53456527, 0.414631277, 1.08033168, 0.804683864}}},
    {"ApplyFtrl",
     nullptr,
     true,
     -0.4,
     {{-0.505336523, -0.143624976, -0.865064323, -0.478714287},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993},
      {0.569059074, 0.241034687, 1.41015911, 0.809445918}}},
    {"ApplyFtrlV2",
     nullptr,
     true,
     -0.5,
     {{-0.647647858, -0.219751984, -0.890727162, -0.627525151},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993},
      {0.609130561, 0.309262514, 1.34066331, 0.969367743}}},
    {"ApplyFtrlV2",
     "multiply_linear_by_lr",
     true,
     -0.5,
     {{-1.22680426, -0.728314519, -1.37381899, -1.17357445},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993},
      {0.55456531, 0.454631269, 1.02033162, 0.884683847}}},
    {"ApplyAdadelta",
     nullptr,
     true,
     -0.5,
     {{0.877157152, 2.18857932, -3.24677467, 3.99210191},
      {0.0820000023, 0.168000013, 0.258000016, 0.32002002},
      {0.412072301, 0.508449733, 0.608718157, 0.640049934}}},
    {"ApplyProximalGradientDescent",
     nullptr,
     true,
     -0.5,
     {{0.880952418, 1.97619033, -2.97619057, 3.78095245}}},
    {"ApplyProximalAdagrad",
     nullptr,
     true,
     -0.5,
     {{0.67248553, 1.95369494, -2.96293545, 3.66302061},
      {0.109999999, 0.24000001, 0.390000015, 0.400099993}}},
    {"SparseApplyMomentum",
     nullptr,
     true,
     -0.5,
     {{0.805000007, 1.90499997, -3, 4, 1.45499992, 2.55999994},
      {0.390000015, 0.189999998, 0.300000012, 0.400000006, 1.09000003, 0.880000055}}},
    {"SparseApplyMomentum",
     "use_nesterov",
     true,
     -0.5,
     {{0.674499989, 1.9095, -3, 4, 1.45950007, 2.704},
      {0.390000015, 0.189999998, 0.300000012, 0.400000006, 1.09000003, 0.880000055}}},
    {"SparseApplyKerasMomentum",
     nullptr,
     true,
     -0.5,
     {{0.939999998, 2.17499995, -3, 4, 2.94000006, 4.18000031},
      {-0.0600000098, 0.174999997, 0.300000012, 0.400000006, 0.939999998, 1.18000007}}},
    {"SparseApplyAdagrad",
     nullptr,
     true,
     -0.5,
     {{0.655876398, 1.98882246, -3, 4, 1.95254207, 3.08980274},
      {0.189999998, 0.200100005, 0.300000012, 0.400000006, 1.11000001, 1.24000001}}},
    {"SparseApplyAdagradV2",
     nullptr,
     true,
     -0.5,
     {{0.656664014, 1.98884737, -3, 4, 1.95258713, 3.08972216},
      {0.189999998, 0.200100005, 0.300000012, 0.400000006, 1.11000001, 1.24000001}}},
    {"SparseApplyAdagradDA",
     nullptr,
     true,
     -0.5,
     {{-0.136148602, -0.0324443132, -3, 4, -0.380760193, -0.297072977},
      {0.400000006, 0.210000008, 0.300000012, 0.400000006, 1.20000005, 1},
      {0.590000033, 0.60010004, 0.699999988, 0.800000012, 1.50999999, 1.63999999}}},
    {"SparseApplyRMSProp",
     nullptr,
     true,
     -0.5,
     {{0.0732687116, 1.44753957, -3, 4, 0.596790552, 1.661587},
      {0.0980000049, 0.160020009, 0.300000012, 0.400000006, 0.882000029, 0.968000054},
      {0.926731288, 0.552460372, 0.699999988, 0.800000012, 1.40320945, 1.338413}}},
    {"SparseApplyCenteredRMSProp",
     nullptr,
     true,
     -0.5,
     {{0.717651129, 1.93858564, -3, 4, 0.975242138, 2.19631219},
      {0.140000001, 0.162000015, 0.300000012, 0.400000006, 0.900000036, 0.920000017},
      {0.418000013, 0.480020016, 0.699999988, 0.800000012, 1.20200002, 1.28800011},
      {0.282348901, 0.0614143163, 0.0700000003, 0.0799999982, 1.02475786, 0.803687751}}},
    {"SparseApplyFtrl",
     nullptr,
     true,
     -0.5,
     {{-0.476474464, -0.511170208, -3, 4, -0.663583457, -0.511454225},
      {0.189999998, 0.200100005, 0.300000012, 0.400000006, 1.11000001, 1.24000001},
      {0.56067574, 0.60955286, 0.699999988, 0.800000012, 1.58097374, 1.29135346}}},
    {"SparseApplyFtrl",
     "multiply_linear_by_lr",
     true,
     -0.5,
     {{-0.942988217, -1.05929029, -3, 4, -1.31374156, -1.17067552},
      {0.189999998, 0.200100005, 0.300000012, 0.400000006, 1.11000001, 1.24000001},
      {0.53033787, 0.604776442, 0.699999988, 0.800000012, 1.54048681, 1.44567668}}},
    {"SparseApplyFtrlV2",
     nullptr,
     true,
     -0.5,
     {{-0.513795555, -0.584252834, -3, 4, -0.698258579, -0.560895741},
      {0.189999998, 0.200100005, 0.300000012, 0.400000006, 1.11000001, 1.24000001},
      {0.600675702, 0.689552844, 0.699999988, 0.800000012, 1.66097379, 1.41135335}}},
    {"SparseApplyAdadelta",
     nullptr,
     true,
     -0.5,
     {{0.662563145, 1.99034023, -3, 4, 1.93481016, 3.12853861},
      {0.0980000049, 0.160020009, 0.300000012, 0.400000006, 0.882000029, 0.968000054},
      {0.491090894, 0.480074674, 0.699999988, 0.800000012, 1.20339978, 1.2932179}}},
    {"SparseApplyProximalGradientDescent",
     nullptr,
     true,
     -0.5,
     {{0.785714388, 1.87619054, -3, 4, 1.83333349, 2.92857146}}},
    {"SparseApplyProximalAdagrad",
     nullptr,
     true,
     -0.5,
     {{0.53693217, 1.7386018, -3, 4, 1.84142292, 2.93554211},
      {0.189999998, 0.200100005, 0.300000012, 0.400000006, 1.11000001, 1.24000001}}},
};

const std::vector<float> kInitial[] = {{1, 2, -3, 4},
                                       {0.1f, 0.2f, 0.3f, 0.4f},
                                       {0.5f, 0.6f, 0.7f, 0.8f},
                                       {0.05f, 0.06f, 0.07f, 0.08f}};

double ScalarOf(absl::string_view name, double lr_power) {
  static const auto* const values = new std::map<absl::string_view, double>{
      {"lr", 0.5},           {"alpha", 0.5}, {"momentum", 0.9}, {"beta1_power", 0.9},
      {"beta2_power", 0.99}, {"beta1", 0.9}, {"beta2", 0.99},   {"epsilon", 1e-3},
      {"rho", 0.8},          {"l1", 0.05},   {"l2", 0.1},       {"l2_shrinkage", 0.02}};
  return name == "lr_power" ? lr_power : values->at(name);
}

class OptimizerTest : public OpTest {
 protected:
  template <typename T>
  static Tensor Matrix(const std::vector<float>& values) {
    Tensor t =
        Tensor::Allocate(kDTypeOf<T>, Shape({static_cast<int64_t>(values.size() / 2), 2})).value();
    for (size_t i = 0; i < values.size(); ++i) t.mutable_values<T>()[i] = static_cast<T>(values[i]);
    return t;
  }

  template <typename T>
  void Check(const Case& c, bool by_handle, double tolerance) {
    SCOPED_TRACE(
        absl::StrCat(by_handle ? "Resource" : "", c.op, " ", c.flag == nullptr ? "" : c.flag));
    const bool is_sparse = absl::StartsWith(c.op, "Sparse");
    const std::string op = absl::StrCat(by_handle ? "Resource" : "", c.op);
    const OpSchema& schema = *BuiltinOps().Find(op).value();
    std::vector<OpInput> inputs;
    std::vector<ResourceRef<Variable>> variables;
    for (const ArgSpec& arg : schema.inputs) {
      const size_t k = variables.size();
      if (k < c.want.size()) {
        std::vector<float> initial = kInitial[k];
        if (is_sparse) initial.insert(initial.end(), {initial[0] + 1, initial[1] + 1});
        variables.push_back(ResourceRef<Variable>::Adopt(new Variable(kDTypeOf<T>)));
        {
          MutexLock lock(&variables[k]->mu());
          variables[k]->mutable_tensor() = Matrix<T>(initial);
        }
        if (by_handle) {
          const std::string name = absl::StrCat(arg.name, ++made_);
          ASSERT_EQ(resources().Add<Variable>("", name, variables[k]), OkStatus());
          inputs.push_back(RunOne(OpNode("VarHandleOp")
                                      .Attr("dtype", kDTypeOf<T>)
                                      .Attr("shape", PartialShape())
                                      .Attr("shared_name", name),
                                  {}));
        } else {
          inputs.push_back(variables[k]);
        }
      } else if (arg.name == "grad" || arg.name == "delta") {
        inputs.push_back(Matrix<T>({0.1f, -0.2f, 0.3f, 0.01f}));
      } else if (arg.name == "indices") {
        inputs.push_back(Tensor::Vector<int32_t>({2, 0}));
      } else if (arg.name == "global_step") {
        inputs.push_back(Tensor::Scalar<int64_t>(3));
      } else {
        inputs.push_back(Tensor::Scalar<T>(static_cast<T>(ScalarOf(arg.name, c.lr_power))));
      }
    }
    OpNode node(op);
    node.Attr("T", kDTypeOf<T>);
    if (c.flag != nullptr) node.Attr(c.flag, c.flag_value);
    OpOutputs outputs;
    ASSERT_EQ(RunInto(node, inputs, &outputs), OkStatus());
    for (size_t k = 0; k < variables.size(); ++k) {
      SCOPED_TRACE(absl::StrCat("variable ", k));
      ExpectClose(variables[k]->Read(), Matrix<T>(c.want[k]), tolerance);
    }
  }

 private:
  int made_ = 0;
};

TEST_F(OptimizerTest, StepsAgreeWithTensorFlow) {
  for (const Case& c : kCases) {
    // There is no reference form of these.
    if (!absl::StrContains(c.op, "Keras")) Check<float>(c, /*by_handle=*/false, 2e-7);
    Check<float>(c, /*by_handle=*/true, 2e-7);
  }
}

TEST_F(OptimizerTest, StepsWorkInDoubleAndInSmallFloats) {
  for (const Case& c : kCases) {
    Check<double>(c, /*by_handle=*/true, 1e-6);
    Check<Eigen::half>(c, /*by_handle=*/true, 5e-3);
    Check<Eigen::bfloat16>(c, /*by_handle=*/true, 4e-2);
  }
}

ResourceRef<Variable> VariableWith(Tensor value) {
  auto variable = ResourceRef<Variable>::Adopt(new Variable(value.dtype()));
  MutexLock lock(&variable->mu());
  variable->mutable_tensor() = std::move(value);
  return variable;
}

TEST_F(OptimizerTest, AValueThatWasReadStaysAsItIs) {
  const ResourceRef<Variable> var = VariableWith(Tensor::Vector<float>({1, 2}));
  const Tensor before = var->Read();
  OpOutputs outputs;
  ASSERT_EQ(RunInto("ApplyGradientDescent",
                    {var, Tensor::Scalar<float>(1), Tensor::Vector<float>({0.5, 0.5})}, &outputs),
            OkStatus());
  ExpectSame(before, Tensor::Vector<float>({1, 2}));
  ExpectSame(var->Read(), Tensor::Vector<float>({0.5, 1.5}));
  EXPECT_EQ(outputs[0].ref.get(), var.get());
}

TEST_F(OptimizerTest, BigVariablesAreUpdatedWhole) {
  const int64_t n = 100'003;
  Tensor grad = Tensor::Allocate(DType::kFloat, Shape({n})).value();
  for (int64_t i = 0; i < n; ++i) grad.mutable_values<float>()[i] = static_cast<float>(i);
  const ResourceRef<Variable> var = VariableWith(Tensor::Zeros(DType::kFloat, Shape({n})).value());
  OpOutputs outputs;
  ASSERT_EQ(RunInto("ApplyGradientDescent", {var, Tensor::Scalar<float>(-1), grad}, &outputs),
            OkStatus());
  ExpectSame(var->Read(), grad);
}

// TensorFlow takes one, and gives it linear's sign.
TEST_F(OptimizerTest, FtrlTakesANegativeL1) {
  const ResourceRef<Variable> var = VariableWith(Tensor::Vector<float>({1}));
  const ResourceRef<Variable> accum = VariableWith(Tensor::Vector<float>({1}));
  const ResourceRef<Variable> linear = VariableWith(Tensor::Vector<float>({1}));
  OpOutputs outputs;
  ASSERT_EQ(RunInto("ApplyFtrl",
                    {var, accum, linear, Tensor::Vector<float>({1}), Tensor::Scalar(1.0f),
                     Tensor::Scalar(-1.0f), Tensor::Scalar(0.0f), Tensor::Scalar(-0.5f)},
                    &outputs),
            OkStatus());
  ExpectClose(var->Read(), Tensor::Vector<float>({-1.82842712f}));
}

TEST_F(OptimizerTest, ProximalStepsRefuseWhatWouldTurnThemRound) {
  const auto apply = [&](float lr, float l1) {
    const ResourceRef<Variable> var = VariableWith(Tensor::Vector<float>({1, 2}));
    const ResourceRef<Variable> accum = VariableWith(Tensor::Vector<float>({1, 1}));
    OpOutputs outputs;
    return RunInto("ApplyProximalAdagrad",
                   {var, accum, Tensor::Scalar(lr), Tensor::Scalar(l1), Tensor::Scalar(0.0f),
                    Tensor::Vector<float>({1, 1})},
                   &outputs);
  };
  EXPECT_EQ(apply(0.1f, 0), OkStatus());
  EXPECT_EQ(apply(0, 0), InvalidArgument("lr is not a positive scalar: []"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float l1 : {-1.0f, nan}) {
    EXPECT_EQ(apply(0.1f, l1),
              InvalidArgument("l1 regularization strength is not a non-negative scalar: []"));
  }
}

TEST_F(OptimizerTest, BadShapesAreRefusedByName) {
  const ResourceRef<Variable> var =
      VariableWith(Tensor::Zeros(DType::kFloat, Shape({3, 2})).value());
  OpOutputs outputs;
  const Tensor lr = Tensor::Scalar<float>(1);
  EXPECT_EQ(RunInto("ApplyGradientDescent",
                    {var, lr, Tensor::Zeros(DType::kFloat, Shape({1, 2})).value()}, &outputs),
            InvalidArgument("var and delta do not have the same shape[3,2] [1,2]"));
  EXPECT_EQ(
      RunInto("ApplyGradientDescent", {var, Tensor::Vector<float>({1, 2}), var->Read()}, &outputs),
      InvalidArgument("alpha is not a scalar: [2]"));
  EXPECT_EQ(
      RunInto("SparseApplyAdagrad",
              {var, VariableWith(Tensor::Zeros(DType::kFloat, Shape({3, 2})).value()), lr,
               Tensor::Zeros(DType::kFloat, Shape({1, 2})).value(), Tensor::Vector<int32_t>({3})},
              &outputs),
      InvalidArgument("indices[0] = 3 is not in [0, 3)"));
}

TEST_F(OptimizerTest, AMissingSlotIsSaidToBeUninitialised) {
  const ResourceRef<Variable> var = VariableWith(Tensor::Vector<float>({1}));
  const auto slot = ResourceRef<Variable>::Adopt(new Variable(DType::kFloat));
  OpOutputs outputs;
  const Tensor x = Tensor::Scalar<float>(1);
  const Status status =
      RunInto("ApplyMomentum", {var, slot, x, Tensor::Vector<float>({1}), x}, &outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("Attempting to use uninitialized value"));
}

}  // namespace
}  // namespace tensorfleet
