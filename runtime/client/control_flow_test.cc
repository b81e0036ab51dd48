#include "runtime/client/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"
#include "runtime/client/term.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

Output Below(const Scope& s, const Output& i, const Output& limit) {
  return ops::Less(s, i, limit);
}

TEST(WhileLoop, GoesRoundAsLongAsTheConditionHolds) {
  Scope root;
  const Output limit = ops::Placeholder(root, DType::kInt32);
  const Outputs last = WhileLoop(
      root, {Const(root, int32_t{0}), Const(root, 1.0f)}, {limit},
      [](const Scope& s, const Outputs& v, const Outputs& c) { return Below(s, v[0], c[0]); },
      [](const Scope& s, const Outputs& v, const Outputs&) {
        return Outputs{Term(s, v[0]) + 1, Term(s, v[1]) * 2};
      });
  const auto session = *Session::Open("");
  for (const auto& [rounds, expected] : {std::pair{0, 1.0f}, {1, 2.0f}, {10, 1024.0f}}) {
    const auto values = session->Run(root, {{limit, Tensor::Scalar<int32_t>(rounds)}}, last);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ((*values)[0].scalar<int32_t>(), rounds);
    EXPECT_EQ((*values)[1].scalar<float>(), expected);
  }
}

TEST(WhileLoop, MayBeInsideAnother) {
  Scope root;
  const auto below3 = [](const Scope& s, const Outputs& v, const Outputs&) {
    return Below(s, v[0], Const(s, int32_t{3}));
  };
  const Outputs last = WhileLoop(root, {Const(root, int32_t{0}), Const(root, 0.0f)}, {}, below3,
                                 [&](const Scope& s, const Outputs& v, const Outputs&) {
                                   const Outputs inner = WhileLoop(
                                       s, {Const(s, int32_t{0}), v[1]}, {}, below3,
                                       [](const Scope& t, const Outputs& w, const Outputs&) {
                                         return Outputs{Term(t, w[0]) + 1, Term(t, w[1]) + 1};
                                       });
                                   return Outputs{Term(s, v[0]) + 1, inner[1]};
                                 });
  const auto values = (*Session::Open(""))->Run(root, {}, {last[1]});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0].scalar<float>(), 9);
}

TEST(WhileLoop, NeedsAsManyResultsAsVariables) {
  Scope root;
  WhileLoop(
      root, {Const(root, 1.0f)}, {},
      [](const Scope& s, const Outputs&, const Outputs&) { return Const(s, false); },
      [](const Scope&, const Outputs&, const Outputs&) { return Outputs{}; }, {.name = "odd"});
  EXPECT_THAT(std::string(root.status().message()), HasSubstr("loop 'odd' has 1 variables"));
}

TEST(Conditional, RunsTheBranchThatIsTaken) {
  Scope root;
  const Output predicate = ops::Placeholder(root, DType::kBool);
  const Output x = Const(root, 3.0f);
  const Outputs result = Conditional(
      root, predicate, {x},
      [](const Scope& s, const Outputs& v) { return Outputs{Term(s, v[0]) * 2}; },
      [](const Scope& s, const Outputs&) {
        // Would fail the step if it ran.
        const Output never = ops::CheckNumerics(s, Const(s, NAN), "taken");
        return Outputs{never};
      });
  const auto session = *Session::Open("");
  const auto taken = session->Run(root, {{predicate, Tensor::Scalar(true)}}, result);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ((*taken)[0].scalar<float>(), 6);
  const auto other = session->Run(root, {{predicate, Tensor::Scalar(false)}}, result);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("taken"));
}

}  // namespace
}  // namespace tensorfleet
