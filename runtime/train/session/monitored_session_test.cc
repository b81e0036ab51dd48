#include "runtime/train/session/monitored_session.h"

#include <gtest/gtest.h>

#include "runtime/io/testing/scratch_dir.h"
#include "runtime/train/checkpoint/add_saver.h"
#include "runtime/train/checkpoint/saver.h"
#include "runtime/train/testing/counting_model.h"

namespace tensorfleet::train {
namespace {

// Saves after the first step, and loses the session at the first end.
class LosesTheEnd final : public Hook {
 public:
  explicit LosesTheEnd(Saver* saver) : saver_(*saver) {}
  StatusOr<bool> StepDone(const StepResult& result) override {
    if (saver_.latest().has_value()) return false;
    return saver_.Save(*result.session, 1).ok() ? StatusOr<bool>(false) : Internal("not saved");
  }
  Status End(Session& session, int64_t global_step) override {
    return ++ends_ == 1 ? Unavailable("lost") : OkStatus();
  }

 private:
  Saver& saver_;
  int ends_ = 0;
};

TEST(MonitoredSession, StepsThatAreLostAtTheEndAreMadeAgain) {
  TrainGraph graph = *TrainGraphFrom(CountingModel(), {});
  graph.saver = *AddSaver(graph.variables, &graph.graph);
  const ScratchDir scratch;
  SaverOptions directory;
  directory.directory = scratch.path();
  Saver saver = *Saver::Open(graph.saver, directory);

  MonitoredSessionOptions options;
  options.graph = &graph;
  options.open = [] { return Session::Open(""); };  // each with variables of its own
  options.latest_checkpoint = [&]() -> StatusOr<std::optional<std::string>> {
    return saver.latest();
  };
  std::vector<std::unique_ptr<Hook>> hooks;
  hooks.push_back(std::make_unique<LosesTheEnd>(&saver));
  MonitoredSession training(std::move(options), std::move(hooks));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(training.Step({}).ok());

  const StatusOr<bool> lost = training.Finish();
  ASSERT_TRUE(lost.ok()) << lost.status();
  EXPECT_FALSE(*lost);
  EXPECT_EQ(training.global_step(), 1);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(training.Step({}).ok());
  const StatusOr<bool> finished = training.Finish();
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_TRUE(*finished);
  EXPECT_EQ(training.global_step(), 3);
}

}  // namespace
}  // namespace tensorfleet::train
