// Random graphs against a naive interpreter: values are computed while the graph is made, one node
// after the other, with a dead value where a branch is not taken; then the executor has to agree,
// run after run.
#include <optional>
#include <random>
#include <thread>

#include "runtime/execute/testing/step_fixture.h"

namespace tensorfleet {
namespace {

using Value = std::optional<int64_t>;  // empty: dead

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed, int num_nodes) : random_(seed) {
    for (int i = 0; i < 3; ++i) AddValue();
    while (next_ < num_nodes) AddSomething();
    for (size_t i = 0; i < values_.size(); ++i) {
      text_.Return(static_cast<int>(i), values_[i].first);
    }
  }
  const GraphText& text() const { return text_; }
  const std::vector<std::pair<std::string, Value>>& values() const { return values_; }

 private:
  int Pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string NewName() { return "n" + std::to_string(next_++); }
  const std::pair<std::string, Value>& Any() { return values_[Pick(values_.size())]; }

  // Data inputs, and now and then a control input, from what there is. The value that they let
  // through is `value` unless one of them is dead.
  Value AddControl(std::vector<std::string>* inputs, Value value) {
    if (Pick(4) != 0) return value;
    const auto& [name, state] = nodes_[Pick(nodes_.size())];
    inputs->push_back("^" + name);
    return state ? value : std::nullopt;
  }
  void Made(const std::string& name, Value value) {
    values_.emplace_back(name, value);
    nodes_.emplace_back(name, value.has_value());
  }

  void AddValue() {
    const std::string name = NewName();
    const int64_t v = Pick(21) - 10;
    std::vector<std::string> inputs;
    const Value value = nodes_.empty() ? Value(v) : AddControl(&inputs, v);
    text_.Add(name, "Value", inputs).Attr("v", v);
    Made(name, value);
  }
  void AddUnary() {
    static constexpr const char* kOps[] = {"Neg", "Identity", "Slow", "Later", "Count"};
    const std::string op = kOps[Pick(5)];
    const auto [from, x] = Any();
    const std::string name = NewName();
    std::vector<std::string> inputs = {from};
    const Value value = AddControl(&inputs, x);
    text_.Add(name, op, inputs);
    Made(name, value && op == "Neg" ? Value(-*value) : value);
  }
  void AddSum() {
    std::vector<std::string> inputs;
    Value sum = 0;
    for (int i = Pick(4) + 1; i > 0; --i) {
      const auto& [from, x] = Any();
      inputs.push_back(from);
      sum = sum && x ? Value(*sum + *x) : std::nullopt;
    }
    if (sum && std::abs(*sum) > 1'000'000) return;
    const std::string name = NewName();
    sum = AddControl(&inputs, sum);
    text_.Add(name, "Sum", inputs);
    Made(name, sum);
  }
  void AddSwitch() {
    const auto [data, x] = Any();
    const auto [by, p] = Any();
    const std::string name = NewName();
    text_.Add(name + "/p", "Positive", {by});
    text_.Add(name, "Switch", {data, name + "/p"});
    const bool alive = x && p;
    nodes_.emplace_back(name, alive);
    values_.emplace_back(name, alive && *p <= 0 ? x : std::nullopt);
    values_.emplace_back(name + ":1", alive && *p > 0 ? x : std::nullopt);
  }
  // Two inputs of which at most one is alive, so that the result does not depend on the order.
  void AddMerge() {
    const auto [a, x] = Any();
    const auto [b, y] = Any();
    if (a == b || (x && y)) return;
    const std::string name = NewName();
    std::vector<std::string> inputs = {a, b};
    text_.Add(name, "Merge", inputs);
    Made(name, x ? x : y);
  }
  // Its inputs are alive or dead together: they depend on one node.
  void AddLoop() {
    const auto [on, alive] = nodes_[Pick(nodes_.size())];
    const std::string name = NewName();
    const int64_t start = Pick(5), limit = Pick(30), step = Pick(3) + 1;
    const std::vector<std::string> inputs = {"^" + on};
    text_.Add(name + "/a", "Value", inputs).Attr("v", start);
    text_.Add(name + "/b", "Value", inputs).Attr("v", limit);
    text_.Add(name + "/c", "Value", inputs).Attr("v", step);
    text_.CountingLoop(name, name + "/a", name + "/b", name + "/c", Pick(4) + 1);
    int64_t end = start;
    while (end < limit) end += step;
    Made(name + "/exit", alive ? Value(end) : std::nullopt);
  }
  void AddSomething() {
    switch (Pick(12)) {
      case 0:
        return AddValue();
      case 1:
      case 2:
        return AddSwitch();
      case 3:
      case 4:
        return AddMerge();
      case 5:
        return AddLoop();
      case 6:
      case 7:
      case 8:
        return AddSum();
      default:
        return AddUnary();
    }
  }

  std::mt19937 random_;
  int next_ = 0;
  GraphText text_;
  std::vector<std::pair<std::string, Value>> values_;  // endpoints
  std::vector<std::pair<std::string, bool>> nodes_;    // whether they run
};

class RandomGraphTest : public StepFixture, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(RandomGraphTest, AgreesWithTheNaiveInterpreter) {
  const RandomGraph graph(GetParam(), 10 + GetParam() % 120);
  auto executor = Compile(graph.text());
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int run = 0; run < 4; ++run) {
    caller_may_work_ = run % 2 == 1;
    const StatusOr<std::vector<Tensor>> results =
        RunTensors(**executor, {}, static_cast<int>(graph.values().size()));
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t i = 0; i < results->size(); ++i) {
      const auto& [name, want] = graph.values()[i];
      const Tensor& got = (*results)[i];
      ASSERT_EQ(got.is_valid(), want.has_value()) << name;
      if (want) ASSERT_EQ(got.scalar<int64_t>(), *want) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphTest, ::testing::Range(0u, 60u));

// A step that is cancelled in its middle ends, and leaves nothing behind for the next one.
TEST_P(RandomGraphTest, EndsWhenItIsCancelledAnywhere) {
  const RandomGraph graph(GetParam(), 10 + GetParam() % 120);
  auto executor = *Compile(graph.text());
  std::mt19937 random(GetParam());
  for (int run = 0; run < 4; ++run) {
    ResetStep();
    runs() = 0;
    on_count() = [this, last = static_cast<int64_t>(1 + random() % 8)](int64_t count) {
      if (count == last) cancellation_->StartCancel(Cancelled("anywhere"));
    };
    const StatusOr<std::vector<Tensor>> results =
        RunTensors(*executor, {}, static_cast<int>(graph.values().size()));
    if (!results.ok()) EXPECT_EQ(results.status().code(), absl::StatusCode::kCancelled);
  }
  on_count() = nullptr;
  ResetStep();
  EXPECT_TRUE(RunTensors(*executor, {}, static_cast<int>(graph.values().size())).ok());
}

}  // namespace
}  // namespace tensorfleet
