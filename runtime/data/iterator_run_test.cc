#include "runtime/data/iterator_run.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/thread_pool.h"
#include "runtime/data/composed.h"

namespace tensorfleet::data {
namespace {

// Numbers from 0 on; each waits until it is let through.
class Gated final : public Dataset {
 public:
  Gated() : Dataset({{DType::kInt64}, {PartialShape(Shape())}}, {}) {}
  void Let(int64_t n) const {
    MutexLock lock(&mu_);
    let_ += n;
    changed_.NotifyAll();
  }
  int64_t open_iterators() const { return open_; }

 private:
  class Numbers final : public Iterator {
   public:
    Numbers(const Gated* dataset, IteratorScope& scope)
        : dataset_(Kept(dataset)),
          scope_(scope),
          wake_(scope, &dataset_->mu_, &dataset_->changed_) {
      ++dataset_->open_;
    }
    ~Numbers() override { --dataset_->open_; }
    bool MayWait() const override { return true; }
    StatusOr<bool> Next(Element* out) override {
      MutexLock lock(&dataset_->mu_);
      while (dataset_->let_ == 0) {
        TFLEET_RETURN_IF_ERROR(scope_.CheckCancelled());
        dataset_->changed_.Wait(&dataset_->mu_);
      }
      --dataset_->let_;
      *out = {Tensor::Scalar<int64_t>(next_++)};
      return true;
    }
    Status Save(StateWriter& to) override {
      to.PutInt("next", next_);
      return OkStatus();
    }
    Status Restore(StateReader& from) override {
      TFLEET_ASSIGN_OR_RETURN(next_, from.GetInt("next"));
      return OkStatus();
    }

   private:
    const std::shared_ptr<const Gated> dataset_;
    IteratorScope& scope_;
    const WakeOnCancel wake_;
    int64_t next_ = 0;
  };
  StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int) const override {
    return IteratorPtr(std::make_unique<Numbers>(this, scope));
  }

  mutable Mutex mu_;
  mutable CondVar changed_;
  mutable int64_t let_ = 0;
  mutable std::atomic<int64_t> open_{0};
};

class IteratorRunTest : public ::testing::Test {
 protected:
  struct Answer {
    Notification came;
    IteratorRun::Result result = std::optional<Element>();
  };
  std::shared_ptr<IteratorRun> Start(DatasetRef dataset) {
    StatusOr<std::shared_ptr<IteratorRun>> run =
        IteratorRun::Start(std::move(dataset), &pool_, "test");
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }
  static void Ask(IteratorRun& run, CancellationManager* step, Answer* answer) {
    run.Next(step, [answer](IteratorRun::Result result) {
      answer->result = std::move(result);
      answer->came.Notify();
    });
  }
  static int64_t NumberOf(Answer& answer) {
    answer.came.Wait();
    EXPECT_TRUE(answer.result.ok()) << answer.result.status();
    return answer.result.ok() ? (**answer.result)[0].scalar<int64_t>() : -1;
  }

  ThreadPool pool_{"test", 2};
  const std::shared_ptr<const Gated> gated_ = std::make_shared<Gated>();
};

TEST_F(IteratorRunTest, KeepsTheElementOfAStepThatIsCancelled) {
  const auto run = Start(gated_);
  CancellationManager step;
  Answer left, first, second;
  Ask(*run, &step, &left);
  step.StartCancel(DeadlineExceeded("too late"));
  left.came.Wait();
  EXPECT_EQ(left.result.status(), DeadlineExceeded("too late"));
  gated_->Let(2);
  Ask(*run, nullptr, &first);
  EXPECT_EQ(NumberOf(first), 0);
  Ask(*run, nullptr, &second);
  EXPECT_EQ(NumberOf(second), 1);
  run->Stop();
}

TEST_F(IteratorRunTest, ServesThoseWhoWaitInTheirOrder) {
  const auto run = Start(gated_);
  Answer answers[3];
  for (Answer& answer : answers) Ask(*run, nullptr, &answer);
  gated_->Let(3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(NumberOf(answers[i]), i);
  run->Stop();
}

TEST_F(IteratorRunTest, StoppingEndsWhoeverWaitsAndLeavesNothingBehind) {
  for (const DatasetRef& dataset : {DatasetRef(gated_), MakePrefetch(gated_, 3),
                                    MakeBatch(MakePrefetch(gated_, 2), 4, false)}) {
    const auto run = Start(dataset);
    Answer answer, late;
    Ask(*run, nullptr, &answer);
    run->Stop();
    answer.came.Wait();
    EXPECT_TRUE(absl::IsCancelled(answer.result.status())) << answer.result.status();
    Ask(*run, nullptr, &late);
    late.came.Wait();
    EXPECT_TRUE(absl::IsCancelled(late.result.status()));
    EXPECT_EQ(gated_->open_iterators(), 0);
  }
}

TEST_F(IteratorRunTest, GoesOnFromWhereItWasSaved) {
  const auto run = Start(MakePrefetch(gated_, 3));
  gated_->Let(5);
  Answer first;
  Ask(*run, nullptr, &first);
  EXPECT_EQ(NumberOf(first), 0);
  gated_->Let(100);  // saving waits for the element that is being made
  IteratorState state;
  ASSERT_TRUE(run->Save(&state).ok());
  run->Stop();
  const StatusOr<std::shared_ptr<IteratorRun>> again =
      IteratorRun::Start(MakePrefetch(gated_, 3), &pool_, "test", &state);
  ASSERT_TRUE(again.ok()) << again.status();
  Answer second;
  Ask(**again, nullptr, &second);
  EXPECT_EQ(NumberOf(second), 1);
  (*again)->Stop();
}

TEST_F(IteratorRunTest, RefusesTheStateOfAnotherDataSet) {
  const IteratorState state;
  EXPECT_TRUE(absl::IsInvalidArgument(IteratorRun::Start(gated_, &pool_, "test", &state).status()));
}

}  // namespace
}  // namespace tensorfleet::data
