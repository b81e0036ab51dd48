// Queues: order, waiting, closing, cancelling, through the resource and through the kernels.
#include "runtime/kernels/portable/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/base/memory_limit.h"
#include "runtime/kernels/testing/op_test.h"
#include "runtime/kernels/testing/waiting.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::portable {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

QueueSpec Scalars(int64_t capacity, std::string kind = "FIFOQueue") {
  return {std::move(kind), "q", {DType::kInt32}, {PartialShape(Shape())}, capacity};
}
ResourceRef<Queue> MakeQueue(QueueSpec spec, std::unique_ptr<QueueStore> store = MakeFifoStore()) {
  return ResourceRef<Queue>::Adopt(new Queue(std::move(spec), std::move(store)));
}

// What an operation on a queue came to.
struct Outcome {
  std::atomic<bool> done{false};
  Status status;
  QueueTuple tuple;
  Queue::EnqueueDone Enqueue() {
    return [this](Status s) {
      status = std::move(s);
      done = true;
    };
  }
  Queue::DequeueDone Dequeue() {
    return [this](Status s, QueueTuple t) {
      status = std::move(s);
      tuple = std::move(t);
      done = true;
    };
  }
  std::vector<int32_t> ints() const {
    const auto values = tuple.at(0).values<int32_t>();
    return {values.begin(), values.end()};
  }
};

Tensor Ints(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }

// Of the only queue that there is.
QueueLevel LevelOfQueue() {
  const std::vector<QueueLevel> levels = QueueLevels::All().Read();
  return levels.size() == 1 ? levels[0] : QueueLevel{};
}

TEST(Queue, ABatchOfMoreElementsThanMemoryHoldsIsAnError) {
  const size_t before = MemoryLimit();
  SetMemoryLimit(size_t{1} << 30);
  auto queue = ResourceRef<Queue>::Adopt(
      new Queue({"FIFOQueue", "q", {DType::kInt32}, {PartialShape({0})}, -1}, MakeFifoStore()));
  Outcome many;
  queue->EnqueueMany({Tensor::Zeros(DType::kInt32, {int64_t{1} << 32, 0}).value()}, {},
                     many.Enqueue());
  SetMemoryLimit(before);
  EXPECT_TRUE(many.done);
  EXPECT_TRUE(absl::IsResourceExhausted(many.status)) << many.status;
}

TEST(Queue, ALargeBatchIsLeftWhenItsStepIsCancelled) {
  auto queue = ResourceRef<Queue>::Adopt(
      new Queue({"FIFOQueue", "q", {DType::kInt32}, {PartialShape({0})}, -1}, MakeFifoStore()));
  CancellationManager cancellation;
  cancellation.StartCancel();
  Outcome many;
  queue->EnqueueMany({Tensor::Zeros(DType::kInt32, {1'000'000, 0}).value()},
                     {&cancellation, nullptr}, many.Enqueue());
  EXPECT_TRUE(many.done);
  EXPECT_TRUE(absl::IsCancelled(many.status)) << many.status;
  EXPECT_EQ(queue->size(), 0);
}

TEST(Queue, TellsTheMetricsHowFullItIs) {
  auto queue = MakeQueue(Scalars(2));
  Outcome two, third;
  queue->EnqueueMany({Ints({1, 2})}, {}, two.Enqueue());
  queue->EnqueueMany({Ints({3})}, {}, third.Enqueue());
  EXPECT_EQ(LevelOfQueue().elements, 2);
  EXPECT_EQ(LevelOfQueue().capacity, 2);
  EXPECT_EQ(LevelOfQueue().enqueues_waiting, 1);
  Outcome out;
  queue->DequeueMany(3, false, {}, out.Dequeue());
  EXPECT_EQ(LevelOfQueue().elements, 0);
  Outcome waits;
  queue->Dequeue({}, waits.Dequeue());
  EXPECT_EQ(LevelOfQueue().dequeues_waiting, 1);
  EXPECT_EQ(LevelOfQueue().name, "q");
  Outcome closed;
  queue->Close(true, {}, closed.Enqueue());
  queue = {};
  EXPECT_TRUE(QueueLevels::All().Read().empty());
}

TEST(Queue, GivesOutInTheOrderItTookIn) {
  auto queue = MakeQueue(Scalars(-1));
  Outcome in, one, many;
  queue->EnqueueMany({Ints({1, 2, 3, 4})}, {}, in.Enqueue());
  EXPECT_TRUE(in.done);
  queue->Dequeue({}, one.Dequeue());
  EXPECT_THAT(one.ints(), ElementsAre(1));
  queue->DequeueMany(3, false, {}, many.Dequeue());
  EXPECT_THAT(many.ints(), ElementsAre(2, 3, 4));
}

TEST(Queue, AnEnqueueWaitsForRoomAndEntersPieceByPiece) {
  auto queue = MakeQueue(Scalars(2));
  Outcome in, behind, out;
  queue->EnqueueMany({Ints({1, 2, 3})}, {}, in.Enqueue());
  queue->Enqueue({Tensor::Scalar<int32_t>(4)}, {}, behind.Enqueue());
  EXPECT_FALSE(in.done);
  EXPECT_EQ(queue->size(), 2);
  queue->Dequeue({}, out.Dequeue());
  EXPECT_TRUE(in.done);
  EXPECT_FALSE(behind.done) << "the queue is full again";
  Outcome rest;
  queue->DequeueMany(3, false, {}, rest.Dequeue());
  EXPECT_TRUE(behind.done);
  EXPECT_THAT(rest.ints(), ElementsAre(2, 3, 4));
}

TEST(Queue, ABigDequeueTakesWhatPassesThroughASmallQueue) {
  auto queue = MakeQueue(Scalars(2));
  Outcome out, in;
  queue->DequeueMany(5, false, {}, out.Dequeue());
  queue->EnqueueMany({Ints({1, 2, 3, 4, 5, 6})}, {}, in.Enqueue());
  EXPECT_THAT(out.ints(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(queue->size(), 1);
}

TEST(Queue, ClosingEndsWhatCannotBeServedAndPutsBackWhatItHad) {
  auto queue = MakeQueue(Scalars(2));
  Outcome in, big, one, close, late;
  queue->EnqueueMany({Ints({1, 2})}, {}, in.Enqueue());
  queue->DequeueMany(5, false, {}, big.Dequeue());
  queue->Dequeue({}, one.Dequeue());
  EXPECT_EQ(queue->size(), 0);
  queue->Close(false, {}, close.Enqueue());
  EXPECT_EQ(
      big.status,
      OutOfRange(
          "FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 0)"));
  EXPECT_EQ(one.status, OkStatus());
  EXPECT_THAT(one.ints(), ElementsAre(1));
  EXPECT_EQ(queue->size(), 1);
  queue->Enqueue({Tensor::Scalar<int32_t>(9)}, {}, late.Enqueue());
  EXPECT_EQ(late.status, Cancelled("FIFOQueue 'q' is closed."));
  Outcome again;
  queue->Close(false, {}, again.Enqueue());
  EXPECT_EQ(again.status, Cancelled("Queue 'q' is already closed."));
}

TEST(Queue, ClosingWaitsForTheEnqueuesBeforeIt) {
  auto queue = MakeQueue(Scalars(2));
  Outcome in, close, behind, out;
  queue->EnqueueMany({Ints({1, 2, 3})}, {}, in.Enqueue());
  queue->Close(false, {}, close.Enqueue());
  queue->Enqueue({Tensor::Scalar<int32_t>(9)}, {}, behind.Enqueue());
  EXPECT_FALSE(close.done);
  EXPECT_FALSE(queue->is_closed());
  queue->Dequeue({}, out.Dequeue());
  EXPECT_TRUE(close.done);
  EXPECT_EQ(behind.status, Cancelled("FIFOQueue 'q' is closed."));
}

TEST(Queue, ClosingCanCancelWhatWaits) {
  auto queue = MakeQueue(Scalars(2));
  Outcome in, close;
  queue->EnqueueMany({Ints({1, 2, 3})}, {}, in.Enqueue());
  queue->Close(true, {}, close.Enqueue());
  EXPECT_EQ(in.status, Cancelled("Enqueue operation was cancelled"));
  EXPECT_EQ(close.status, OkStatus());
  EXPECT_EQ(queue->size(), 2);
}

TEST(Queue, AClosedQueueGivesUpToWhatItHas) {
  auto queue = MakeQueue(Scalars(-1));
  Outcome in, waiting, close, none;
  queue->EnqueueMany({Ints({1, 2})}, {}, in.Enqueue());
  queue->DequeueMany(5, true, {}, waiting.Dequeue());
  EXPECT_FALSE(waiting.done);
  queue->Close(false, {}, close.Enqueue());
  EXPECT_THAT(waiting.ints(), ElementsAre(1, 2));
  queue->DequeueMany(5, true, {}, none.Dequeue());
  EXPECT_EQ(none.status.code(), absl::StatusCode::kOutOfRange);
}

TEST(Queue, CancellingTheStepEndsItsWaitAndLosesNothing) {
  auto queue = MakeQueue(Scalars(-1));
  CancellationManager step, over;
  Outcome in, big, small, late;
  queue->Enqueue({Tensor::Scalar<int32_t>(7)}, {}, in.Enqueue());
  queue->DequeueMany(3, false, {&step, nullptr}, big.Dequeue());
  queue->Dequeue({}, small.Dequeue());
  EXPECT_FALSE(small.done);
  step.StartCancel();
  EXPECT_EQ(big.status, Cancelled("Dequeue operation was cancelled"));
  EXPECT_THAT(small.ints(), ElementsAre(7)) << "what the cancelled one had goes to the next";
  over.StartCancel();
  queue->Dequeue({&over, nullptr}, late.Dequeue());
  EXPECT_EQ(late.status, Cancelled("Dequeue operation was cancelled"));
}

TEST(Queue, PaddingFillsUpSmallerElements) {
  auto queue = MakeQueue({"PaddingFIFOQueue",
                          "q",
                          {DType::kFloat, DType::kString},
                          {PartialShape({-1, 2}), PartialShape({-1})},
                          -1,
                          0,
                          /*pads=*/true});
  Outcome first, second, out;
  queue->Enqueue(
      {Tensor::Of<float>(Shape({1, 2}), {1, 2}), Tensor::Vector<std::string>({"a", "b"})}, {},
      first.Enqueue());
  queue->Enqueue({Tensor::Of<float>(Shape({2, 2}), {3, 4, 5, 6}), Tensor::Vector<std::string>({})},
                 {}, second.Enqueue());
  queue->DequeueMany(2, false, {}, out.Dequeue());
  ASSERT_EQ(out.status, OkStatus());
  ExpectSame(out.tuple[0], Tensor::Of<float>(Shape({2, 2, 2}), {1, 2, 0, 0, 3, 4, 5, 6}));
  ExpectSame(out.tuple[1], Tensor::Of<std::string>(Shape({2, 2}), {"a", "b", "", ""}));
  Outcome bad;
  queue->Enqueue({Tensor::Vector<float>({1, 2}), Tensor::Vector<std::string>({})}, {},
                 bad.Enqueue());
  EXPECT_EQ(bad.status,
            InvalidArgument("Shape mismatch in tuple component 0. Expected [?,2], got [2]"));
}

TEST(Queue, PriorityGivesTheLowestFirstAndEqualOnesInOrder) {
  auto queue = MakeQueue({"PriorityQueue",
                          "q",
                          {DType::kInt64, DType::kInt32},
                          {PartialShape(Shape()), PartialShape(Shape())},
                          -1},
                         MakePriorityStore());
  Outcome in, out;
  queue->EnqueueMany({Tensor::Vector<int64_t>({3, 1, 2, 1}), Ints({30, 10, 20, 11})}, {},
                     in.Enqueue());
  queue->DequeueMany(4, false, {}, out.Dequeue());
  EXPECT_THAT(out.tuple[1].values<int32_t>(), ElementsAre(10, 11, 20, 30));
}

// The sequence that TensorFlow 2.15 gives for these seeds.
TEST(Queue, ShufflesAsTensorFlowDoes) {
  auto queue = MakeQueue(Scalars(-1, "RandomShuffleQueue"), MakeShuffleStore(7, 11));
  Outcome in, out, rest;
  queue->EnqueueMany({Ints({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}, {}, in.Enqueue());
  queue->DequeueMany(6, false, {}, out.Dequeue());
  EXPECT_THAT(out.ints(), ElementsAre(5, 7, 10, 0, 9, 11));
  queue->DequeueMany(6, false, {}, rest.Dequeue());
  EXPECT_THAT(rest.ints(), ElementsAre(4, 3, 2, 1, 8, 6));
}

TEST(Queue, AShuffledQueueKeepsSomeBackUntilItIsClosed) {
  QueueSpec spec = Scalars(-1, "RandomShuffleQueue");
  spec.min_after_dequeue = 2;
  auto queue = MakeQueue(std::move(spec), MakeShuffleStore(7, 11));
  Outcome in, two, one, close;
  queue->EnqueueMany({Ints({0, 1, 2, 3})}, {}, in.Enqueue());
  queue->DequeueMany(2, false, {}, two.Dequeue());
  EXPECT_THAT(two.ints(), ElementsAre(1, 2));
  queue->Dequeue({}, one.Dequeue());
  EXPECT_FALSE(one.done);
  queue->Close(false, {}, close.Enqueue());
  EXPECT_THAT(one.ints(), ElementsAre(3));
}

TEST(Queue, ManyThreadsLoseAndDoubleNothing) {
  auto queue = MakeQueue(Scalars(8));
  ThreadPool pool("queue", 2);
  constexpr int kProducers = 4, kEach = 2000;
  std::atomic<int64_t> sum{0}, taken{0};
  std::vector<std::thread> threads;
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < kEach; ++i) {
        Notification done;
        queue->Enqueue({Tensor::Scalar<int32_t>(p * kEach + i)}, {nullptr, &pool},
                       [&](Status) { done.Notify(); });
        done.Wait();
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Notification done;
        queue->Dequeue({nullptr, &pool}, [&](Status s, QueueTuple t) {
          if (s.ok()) {
            sum += t[0].scalar<int32_t>();
            ++taken;
          }
          done.Notify();
        });
        done.Wait();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  constexpr int64_t kAll = kProducers * kEach;
  EXPECT_EQ(taken, kAll);
  EXPECT_EQ(sum, kAll * (kAll - 1) / 2);
  EXPECT_EQ(queue->size(), 0);
}

class QueueOpsTest : public OpTest {
 protected:
  OpNode Fifo() {
    return OpNode("FIFOQueueV2")
        .Name("fifo")
        .Attr("component_types", absl::Span<const DType>({DType::kFloat}))
        .Attr("shapes", absl::Span<const PartialShape>(kShapes))
        .Attr("capacity", 3);
  }
  static inline const std::vector<PartialShape> kShapes = {PartialShape({2})};
  static inline const std::vector<DType> kFloats = {DType::kFloat};
};

TEST_F(QueueOpsTest, APrivateQueueHasANameOfItsOwnAndGoesWithItsNode) {
  const int64_t before = resources().size();
  {
    auto node = Make(Fifo(), {});
    ASSERT_EQ(node.status(), OkStatus());
    OpOutputs outputs;
    ASSERT_EQ(RunInstance(**node, {}, &outputs), OkStatus());
    const ResourceHandle& handle = outputs[0].tensor.scalar<ResourceHandle>();
    EXPECT_THAT(handle.name, ::testing::MatchesRegex("_[0-9]+_fifo"));
    EXPECT_EQ(resources().size(), before + 1);
  }
  EXPECT_EQ(resources().size(), before);
}

TEST_F(QueueOpsTest, ASharedQueueStaysAndMustBeDescribedTheSameWay) {
  const Tensor handle = RunOne(Fifo().Attr("shared_name", "f"), {});
  ASSERT_EQ(Run("QueueEnqueueV2", {handle, Tensor::Vector<float>({1, 2})}).status(), OkStatus());
  ExpectSame(RunOne("QueueSizeV2", {RunOne(Fifo().Attr("shared_name", "f"), {})}),
             Tensor::Scalar<int32_t>(1));
  EXPECT_EQ(Run(Fifo().Attr("shared_name", "f").Attr("capacity", 4), {}).status(),
            InvalidArgument("Shared queue 'f' has capacity 3 but requested capacity was 4"));
}

TEST_F(QueueOpsTest, OperationsMustFitTheQueue) {
  const Tensor handle = RunOne(Fifo().Attr("shared_name", "f"), {});
  EXPECT_EQ(
      Run("QueueEnqueueV2", {handle, Tensor::Vector<int32_t>({1, 2})}).status(),
      InvalidArgument("Signature mismatch, have: resource, int32-> expected: resource, float->"));
  EXPECT_EQ(Run("QueueEnqueueV2", {handle, Tensor::Vector<float>({1, 2, 3})}).status(),
            InvalidArgument("Shape mismatch in tuple component 0. Expected [2], got [3]"));
  EXPECT_EQ(Run("QueueEnqueueManyV2", {handle, Tensor::Scalar<float>(1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const OpNode many =
      OpNode("QueueDequeueManyV2").Attr("component_types", absl::Span<const DType>(kFloats));
  EXPECT_EQ(Run(many, {handle, Tensor::Scalar<int32_t>(-1)}).status(),
            InvalidArgument("DequeueManyOp requested -1 < 0 elements"));
  EXPECT_EQ(RunOne(many, {handle, Tensor::Scalar<int32_t>(0)}).shape(), Shape({0, 2}));
  EXPECT_EQ(
      Run(OpNode("QueueEnqueueV2").Attr("timeout_ms", 5), {handle, Tensor::Vector<float>({1, 2})})
          .status(),
      WithNode(InvalidArgument("Timeout not supported yet."), "node"));
}

TEST_F(QueueOpsTest, AWaitingDequeueEndsWithItsStep) {
  const Tensor handle = RunOne(Fifo().Attr("shared_name", "f"), {});
  WhenTheNextKernelWaits([&] { cancellation().StartCancel(); });
  const Status status =
      Run(OpNode("QueueDequeueV2").Attr("component_types", absl::Span<const DType>(kFloats)),
          {handle})
          .status();
  EXPECT_EQ(status, Cancelled("Dequeue operation was cancelled"));
}

TEST_F(QueueOpsTest, ClosedQueuesSaySo) {
  const Tensor handle = RunOne(Fifo().Attr("shared_name", "f"), {});
  ASSERT_EQ(Run("QueueCloseV2", {handle}).status(), OkStatus());
  ExpectSame(RunOne("QueueIsClosedV2", {handle}), Tensor::Scalar<bool>(true));
  EXPECT_EQ(
      Run(OpNode("QueueDequeueV2").Attr("component_types", absl::Span<const DType>(kFloats)),
          {handle})
          .status(),
      OutOfRange(
          "FIFOQueue 'f' is closed and has insufficient elements (requested 1, current size 0)"));
}

TEST_F(QueueOpsTest, BadDescriptionsAreRefused) {
  EXPECT_EQ(
      Run(Fifo().Attr("capacity", int64_t{1} << 31), {}).status(),
      WithNode(InvalidArgument("Attr capacity has value 2147483648 out of range for an int32"),
               "fifo"));
  for (const char* container : {"a b", "_a", "/a", "a*"}) {
    EXPECT_EQ(
        Run(Fifo().Attr("container", container), {}).status(),
        WithNode(InvalidArgument("container contains invalid characters: ", container), "fifo"));
  }
  EXPECT_EQ(Run(Fifo().Attr("container", "a-1/b.c"), {}).status(), OkStatus());
  EXPECT_EQ(Run(Fifo().Attr("shared_name", "_s"), {}).status(),
            WithNode(InvalidArgument("shared_name cannot start with '_':_s"), "fifo"));
  const std::vector<PartialShape> open = {PartialShape({-1})};
  EXPECT_EQ(Run(Fifo().Attr("shapes", absl::Span<const PartialShape>(open)), {}).status(),
            WithNode(InvalidArgument("Shape [?] is not fully defined"), "fifo"));
  EXPECT_EQ(Run(OpNode("RandomShuffleQueueV2")
                    .Attr("component_types", absl::Span<const DType>(kFloats))
                    .Attr("capacity", 3)
                    .Attr("min_after_dequeue", 5),
                {})
                .status(),
            WithNode(InvalidArgument("min_after_dequeue 5 must be < capacity 3"), "node"));
}

}  // namespace
}  // namespace tensorfleet::portable
