// Every gradient against differences of the function itself, over the table in testing/cases.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <random>
#include <set>

#include "runtime/client/gradients.h"
#include "runtime/client/gradients/registry.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"
#include "runtime/client/session.h"

namespace tensorfleet {
namespace {

using Values = std::vector<double>;

std::vector<GradientCase> AllCases() {
  std::vector<GradientCase> all;
  for (const auto& family : {UnaryCases(), BinaryCases(), LinearAlgebraCases(), MatrixCases(),
                             ReductionCases(), ArrayCases(), PickCases(), NnCases(), SegmentCases(),
                             TensorArrayCases(), TensorListCases(), WindowCases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

// Numbers that keep a distance from each other: no two arguments draw, so the order of elements is
// the same for all small changes.
Values Draw(int64_t count, double low, double high, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> jitter(0.2, 0.8);
  Values values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = low + (high - low) * (static_cast<double>(i) + jitter(random)) / count;
  }
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

template <typename T>
Tensor TensorOf(const Values& values, const Shape& shape) {
  std::vector<T> typed;
  for (const double v : values) typed.push_back(static_cast<T>(v));
  return Tensor::Vector<T>(typed).Reshaped(shape);
}

Tensor MakeTensor(DType type, const Values& values, const Shape& shape) {
  switch (type) {
    case DType::kFloat:
      return TensorOf<float>(values, shape);
    case DType::kHalf:
      return TensorOf<Eigen::half>(values, shape);
    case DType::kBFloat16:
      return TensorOf<Eigen::bfloat16>(values, shape);
    default:
      return TensorOf<double>(values, shape);
  }
}

template <typename T>
Values ValuesAs(const Tensor& tensor) {
  Values values;
  for (const T v : tensor.values<T>()) values.push_back(static_cast<double>(v));
  return values;
}

Values ValuesOf(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return ValuesAs<float>(tensor);
    case DType::kHalf:
      return ValuesAs<Eigen::half>(tensor);
    case DType::kBFloat16:
      return ValuesAs<Eigen::bfloat16>(tensor);
    default:
      return ValuesAs<double>(tensor);
  }
}

// One case's graph in one type, with the gradients of a weighted sum of all its results.
class Graph {
 public:
  Graph(const GradientCase& c, DType type, bool shapes_known) : type_(type), shapes_(c.shapes) {
    for (const Shape& shape : c.shapes) {
      const PartialShape declared = shapes_known ? PartialShape(shape) : PartialShape::Unknown();
      // A scalar's shape says nothing on a placeholder; EnsureShape does.
      const Output fed = ops::Placeholder(scope_, type, {.shape = declared});
      feeds_.push_back(fed);
      xs_.push_back(shapes_known ? ops::EnsureShape(scope_, fed, declared) : fed);
    }
    ys_ = c.build(scope_, xs_);
    built_ = scope_.status().ok();
    if (!built_) return;
    std::vector<Gradient> weights;
    for (size_t i = 0; i < ys_.size(); ++i) {
      weights_.push_back(ops::Placeholder(scope_, type));
      weights.push_back(weights_.back());
    }
    for (const Gradient& g : AddSymbolicGradients(scope_, ys_, xs_, weights)) {
      // A gradient that is a weight itself would be fed and fetched.
      gradients_.push_back(g.is_absent() ? Output() : ops::Identity(scope_, ToDense(scope_, g)));
    }
    session_ = *Session::Open("");
  }

  bool built() const { return built_; }
  const Status& status() const { return scope_.status(); }

  StatusOr<std::vector<Tensor>> Results(const std::vector<Values>& xs) {
    return session_->Run(scope_, Feeds(xs), ys_);
  }
  // One per argument, flat; zeros where absent.
  StatusOr<std::vector<Values>> Gradients(const std::vector<Values>& xs,
                                          const std::vector<Tensor>& results) {
    Session::Feeds feeds = Feeds(xs);
    for (size_t i = 0; i < weights_.size(); ++i) {
      const Shape& shape = results[i].shape();
      feeds.emplace_back(weights_[i], MakeTensor(type_, Weights(i, shape.num_elements()), shape));
    }
    std::vector<Output> present;
    for (const Output& g : gradients_) {
      if (g.is_valid()) present.push_back(g);
    }
    TFLEET_ASSIGN_OR_RETURN(const std::vector<Tensor> fetched,
                            session_->Run(scope_, feeds, present));
    std::vector<Values> all;
    size_t next = 0;
    for (size_t i = 0; i < gradients_.size(); ++i) {
      if (!gradients_[i].is_valid()) {
        all.push_back(Values(shapes_[i].num_elements(), 0));
        continue;
      }
      if (fetched[next].shape() != shapes_[i]) {
        return Internal("gradient ", i, " has shape ", fetched[next].shape().ToString());
      }
      all.push_back(ValuesOf(fetched[next++]));
    }
    return all;
  }

  static Values Weights(size_t y, int64_t count) { return Draw(count, 0.5, 1.5, 100 + y); }

 private:
  Session::Feeds Feeds(const std::vector<Values>& xs) {
    Session::Feeds feeds;
    for (size_t i = 0; i < xs.size(); ++i) {
      feeds.emplace_back(feeds_[i], MakeTensor(type_, xs[i], shapes_[i]));
    }
    return feeds;
  }

  Scope scope_;
  const DType type_;
  const std::vector<Shape> shapes_;
  std::vector<Output> feeds_, xs_, ys_, weights_, gradients_;
  bool built_ = false;
  std::unique_ptr<Session> session_;
};

double WeightedSum(const std::vector<Tensor>& results) {
  double sum = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Values values = ValuesOf(results[i]), weights = Graph::Weights(i, values.size());
    for (size_t k = 0; k < values.size(); ++k) sum += values[k] * weights[k];
  }
  return sum;
}

std::vector<Values> Arguments(const GradientCase& c) {
  std::vector<Values> xs;
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    xs.push_back(Draw(c.shapes[i].num_elements(), c.low, c.high, static_cast<int>(i)));
  }
  return xs;
}

// By central differences.
std::vector<Values> Differences(Graph& graph, std::vector<Values> xs) {
  constexpr double kStep = 1e-5;
  std::vector<Values> all;
  for (Values& x : xs) {
    Values slopes;
    for (double& element : x) {
      const double at = element;
      element = at + kStep;
      const double above = WeightedSum(*graph.Results(xs));
      element = at - kStep;
      const double below = WeightedSum(*graph.Results(xs));
      element = at;
      slopes.push_back((above - below) / (2 * kStep));
    }
    all.push_back(slopes);
  }
  return all;
}

void ExpectClose(const std::vector<Values>& got, const std::vector<Values>& want, double tolerance,
                 const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    for (size_t k = 0; k < got[i].size(); ++k) {
      EXPECT_NEAR(got[i][k], want[i][k], tolerance * std::max(1.0, std::abs(want[i][k])))
          << what << ", element " << k << " of argument " << i;
    }
  }
}

class NumericGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(NumericGradient, IsTheSlope) {
  const GradientCase& c = GetParam();
  const std::vector<Values> xs = Arguments(c);
  Graph graph(c, DType::kDouble, /*shapes_known=*/true);
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  const auto results = graph.Results(xs);
  ASSERT_TRUE(results.ok()) << results.status();
  const auto gradients = graph.Gradients(xs, *results);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  ExpectClose(*gradients, Differences(graph, xs), 1e-5, "double");

  // Shapes that only the step knows lead to other ops for the same gradient.
  Graph open(c, DType::kDouble, /*shapes_known=*/false);
  if (c.needs_rank) {
    EXPECT_EQ(open.status().code(), absl::StatusCode::kUnimplemented);
  } else {
    ASSERT_TRUE(open.status().ok()) << open.status();
    const auto same = open.Gradients(xs, *results);
    ASSERT_TRUE(same.ok()) << same.status();
    ExpectClose(*same, *gradients, 1e-12, "unknown shapes");
  }

  struct Narrow {
    DType type;
    double tolerance;
  };
  for (const Narrow& narrow :
       {Narrow{DType::kFloat, 1e-4}, Narrow{DType::kHalf, 0.03}, Narrow{DType::kBFloat16, 0.2}}) {
    Graph typed(c, narrow.type, /*shapes_known=*/true);
    if (!typed.built()) {
      ASSERT_NE(narrow.type, DType::kFloat) << typed.status();
      continue;  // the op does not take this type
    }
    ASSERT_TRUE(typed.status().ok()) << typed.status();
    if (const Status forward = typed.Results(xs).status(); !forward.ok()) {
      // As in TensorFlow, some ops have no kernel for the narrow types.
      ASSERT_NE(narrow.type, DType::kFloat) << forward;
      ASSERT_THAT(std::string(forward.message()),
                  testing::HasSubstr(absl::StrCat("No kernel for op '", c.op)));
      continue;
    }
    const auto values = typed.Gradients(xs, *results);
    ASSERT_TRUE(values.ok()) << DTypeName(narrow.type) << ": " << values.status();
    ExpectClose(*values, *gradients, narrow.tolerance, DTypeName(narrow.type).c_str());
  }
}

std::string NameOf(const testing::TestParamInfo<GradientCase>& info) {
  std::string name = info.param.op;
  if (!info.param.note.empty()) absl::StrAppend(&name, "_", info.param.note);
  for (char& letter : name) {
    if (!absl::ascii_isalnum(letter)) letter = '_';
  }
  return absl::StrCat(name, "_", info.index);
}

INSTANTIATE_TEST_SUITE_P(Ops, NumericGradient, testing::ValuesIn(AllCases()), NameOf);

TEST(GradientCases, CoverEveryOpWithAGradientFunction) {
  // Those whose arguments are no plain tensors of a floating type have tests of their own:
  // complex_test.cc, control_flow_test.cc, ../gradients_test.cc.
  std::set<std::string> covered = {
      "Angle", "Complex", "ComplexAbs", "Conj", "Imag", "Real", "ReadVariableOp", "ResourceGather",
      "ResourceGatherNd", "RefIdentity", "PreventGradient", "Print", "CheckNumericsV2", "Switch",
      "RefSwitch", "Merge", "RefMerge",
      // calls_test.cc
      "PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile",
      "Case", "StatelessCase",
      // Not for doubles; ../gradtest compares them with TensorFlow's.
      "LRN", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "FusedBatchNormGrad",
      "FusedBatchNormGradV2", "FusedBatchNormGradV3"};
  for (const GradientCase& c : AllCases()) covered.insert(c.op);
  for (const std::string& op : BuiltinGradients().Ops()) {
    if (BuiltinGradients().Find(op)->fn == nullptr) continue;
    EXPECT_TRUE(covered.contains(op)) << op << " has a gradient that no case checks";
  }
}

}  // namespace
}  // namespace tensorfleet
