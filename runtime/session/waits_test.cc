// Who waits for what in a step, and for how long: preparing it, and its instalments.

#include <thread>

#include "runtime/session/testing/one_task.h"

namespace tensorfleet {
namespace {

// Runs on the thread that starts the step: calls `gate` and passes its input on.
std::function<void()> gate;

class Gate final : public Kernel {
 public:
  Status Compute(KernelContext& ctx) const override {
    gate();
    ctx.SetOutput(0, ctx.input(0));
    return OkStatus();
  }
};

const KernelRegistry& KernelsWithGate() {
  static const KernelRegistry* const kernels = [] {
    auto* made = new KernelRegistry;
    RegisterCoreCpuKernels(*made);
    made->Add<Gate>("Lgamma", kCpu);
    return made;
  }();
  return *kernels;
}

Worker::Options WithGate() {
  Worker::Options options;
  options.kernels = &KernelsWithGate();
  return options;
}

// Keeps the thread that prepares graphs busy until it is opened. The thread may wake after this has
// gone.
class BusyCompiler {
 public:
  explicit BusyCompiler(OneTask* task) {
    task->compile_pool.Schedule([open = open_] { open->Wait(); });
  }
  ~BusyCompiler() { Open(); }
  void Open() {
    if (!open_->HasBeenNotified()) open_->Notify();
  }

 private:
  const std::shared_ptr<Notification> open_ = std::make_shared<Notification>();
};

TEST(PreparingAStep, IsNotWaitedForBeyondTheDeadline) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  BusyCompiler busy(&task);
  const Status status = RunStep(*client, {"n0:0"}, /*feed_x=*/true, /*timeout_ms=*/1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

TEST(PreparingAStep, IsNotWaitedForWhenTheCallerHasGone) {
  OneTask task;
  const auto opened = task.Open(ChainOf(1));
  CancellationManager gone;
  MasterClient client(&task.master(), &gone, {});
  ASSERT_EQ(client.Extend(ChainOf(1)), OkStatus());
  BusyCompiler busy(&task);
  Status status;
  std::thread step([&] { status = RunStep(client, {"n0:0"}); });
  gone.StartCancel(Cancelled("the client hung up"));
  step.join();
  EXPECT_EQ(status, Cancelled("the client hung up"));
}

TEST(PreparingAStep, IsNotWaitedForWhenTheSessionIsClosed) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  BusyCompiler busy(&task);
  Status status;
  std::thread step([&] { status = RunStep(*client, {"n0:0"}); });
  while (ServerMetrics().prepared_graphs == 0) std::this_thread::yield();
  EXPECT_EQ(client->Close(), OkStatus());
  step.join();
  EXPECT_THAT(status.code(),
              ::testing::AnyOf(absl::StatusCode::kCancelled, absl::StatusCode::kAborted));
}

TEST(PreparingAStep, IsGivenUpWhenNobodyWaitsAndBegunAnewWhenItIsAskedForAgain) {
  OneTask task;
  const auto client = task.Open(ChainOf(1));
  const int64_t registered = ServerMetrics().graphs_registered;
  BusyCompiler busy(&task);
  EXPECT_FALSE(RunStep(*client, {"n0:0"}, /*feed_x=*/true, /*timeout_ms=*/1).ok());
  busy.Open();
  EXPECT_EQ(RunStep(*client, {"n0:0"}), OkStatus());
  EXPECT_EQ(ServerMetrics().graphs_registered, registered + 1);
}

TEST(PreparingAStep, KeepsNoOtherStepFromRunning) {
  OneTask task;
  const auto client = task.Open(ChainOf(2));
  ASSERT_EQ(RunStep(*client, {"n0:0"}), OkStatus());
  BusyCompiler busy(&task);
  Status status;
  std::thread other([&] { status = RunStep(*client, {"n1:0"}); });
  EXPECT_EQ(RunStep(*client, {"n0:0"}), OkStatus());
  busy.Open();
  other.join();
  EXPECT_EQ(status, OkStatus());
}

constexpr char kGatedGraph[] = R"(
  node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: "var" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape {} } } }
  node { name: "init" op: "Assign" input: "var" input: "one"
         attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "gate" op: "Lgamma" input: "init" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "y" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "minus_x" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "minus_y" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } })";

class PartialRunTest : public ::testing::Test {
 protected:
  struct Instalment {
    RunStepArgs args;
    RunStepResult result;
    Status status;
    Notification over;
  };
  void SetUp() override {
    auto open = std::make_shared<tensorflow::CreateSessionRequest>();
    *open->mutable_graph_def() = GraphOf(kGatedGraph);
    Notification opened;
    task_.master().CreateSession({}, open, [&](const auto& response) {
      EXPECT_EQ(response.status(), OkStatus());
      session_ = response->session_handle();
      opened.Notify();
    });
    opened.Wait();
    tensorflow::PartialRunSetupRequest setup;
    setup.set_session_handle(session_);
    for (const char* feed : {"x:0", "y:0"}) setup.add_feed(feed);
    for (const char* fetch : {"minus_x:0", "minus_y:0", "gate:0"}) setup.add_fetch(fetch);
    Notification set_up;
    task_.master().PartialRunSetup({}, setup, [&](const StatusOr<std::string>& handle) {
      EXPECT_EQ(handle.status(), OkStatus());
      run_ = handle.value_or("");
      set_up.Notify();
    });
    set_up.Wait();
  }
  void Run(Instalment* one) {
    one->args.session_handle = session_;
    one->args.partial_run_handle = run_;
    task_.master().RunStep({}, &one->args, &one->result, [one](Status status) {
      one->status = std::move(status);
      one->over.Notify();
    });
  }

  OneTask task_{{}, WithGate()};
  std::string session_, run_;
};

TEST_F(PartialRunTest, TwoInstalmentsAtOnceStartTheRunOnce) {
  Instalment first, second;
  first.args.feeds = {{"x:0", Tensor::Scalar(1.0f)}};
  first.args.fetches = {"minus_x:0", "gate:0"};
  second.args.feeds = {{"y:0", Tensor::Scalar(2.0f)}};
  second.args.fetches = {"minus_y:0"};
  // The second one comes while the first one starts the run.
  std::atomic<int> starts{0};
  gate = [&] {
    if (++starts == 1) Run(&second);
  };
  Run(&first);
  first.over.Wait();
  second.over.Wait();
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(first.status, OkStatus());
  EXPECT_EQ(second.status, OkStatus());
}

// A kernel that hears nothing keeps no call of its run from being answered.
TEST_F(PartialRunTest, AreAnsweredAtTheirDeadlineWhateverKernelsDo) {
  const Kept before = Kept::Now();
  Notification in_the_kernel, let_go;
  gate = [&] {
    in_the_kernel.Notify();
    let_go.Wait();
  };
  Instalment first, second, late;
  first.args.fetches = {"gate:0"};
  std::thread caller([&] { Run(&first); });
  in_the_kernel.Wait();
  second.args.feeds = {{"y:0", Tensor::Scalar(2.0f)}};
  second.args.fetches = {"minus_y:0"};
  second.args.options.set_timeout_in_ms(1);
  Run(&second);
  EXPECT_TRUE(first.over.WaitFor(std::chrono::seconds(30)));
  EXPECT_TRUE(second.over.WaitFor(std::chrono::seconds(30)));
  Run(&late);
  EXPECT_TRUE(late.over.WaitFor(std::chrono::seconds(30)));
  let_go.Notify();
  caller.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(first.status)) << first.status;
  EXPECT_TRUE(absl::IsDeadlineExceeded(second.status)) << second.status;
  EXPECT_EQ(late.status,
            InvalidArgument("Must run PartialRunSetup before performing partial runs"));
  Kept after = before;
  --after.partial_runs;
  EXPECT_EQ(Kept::Settled(after), after);
}

}  // namespace
}  // namespace tensorfleet
