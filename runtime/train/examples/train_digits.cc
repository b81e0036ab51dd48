// Trains a model of handwritten digits: one task of the job, the part that TF_CONFIG says. A whole
// training program in C++, with checkpoints, recovery, an evaluator and event files for
// TensorBoard.
//
//   TF_CONFIG='{"cluster": {...}, "task": {...}}' train_digits --data deploy/examples/digits
//       --checkpoint_dir /tmp/digits
//
// Without TF_CONFIG it trains alone.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "runtime/train/examples/digits_data.h"
#include "runtime/train/examples/digits_model.h"
#include "runtime/train/job/task_process.h"

namespace {

using namespace tensorfleet;
using namespace tensorfleet::train;

struct Flags {
  std::string data, checkpoint_dir, export_to;
  int64_t max_steps = 2000, save_steps = 500, log_steps = 250;
  int batch = 64;
  float rate = 0.05f;
};

StatusOr<int> Run(const Flags& flags) {
  TFLEET_ASSIGN_OR_RETURN(const tensorflow::MetaGraphDef model, DigitsModel(flags.rate));
  if (!flags.export_to.empty()) {
    std::ofstream file(flags.export_to, std::ios::binary);
    if (!model.SerializeToOstream(&file)) return Unknown("cannot write ", flags.export_to);
    return kExitDone;
  }
  BlockTaskSignals();
  TrainOptions options;
  TFLEET_ASSIGN_OR_RETURN(options.server, ServerFromTfConfig(std::getenv("TF_CONFIG")));
  options.checkpoint_dir = flags.checkpoint_dir;
  options.max_steps = flags.max_steps;
  options.save_steps = flags.save_steps;
  options.log_steps = flags.log_steps;

  TFLEET_ASSIGN_OR_RETURN(const Digits train, ReadDigits(flags.data + "/train.tfrecord.gz"));
  TFLEET_ASSIGN_OR_RETURN(const Digits test, ReadDigits(flags.data + "/test.tfrecord.gz"));
  // Each task has its own order.
  const auto seed = static_cast<uint32_t>(std::hash<std::string>{}(options.server.job) +
                                          static_cast<size_t>(options.server.task));
  DigitShuffler shuffler(&train, flags.batch, seed);
  options.next_batch = [&shuffler]() -> StatusOr<MonitoredSession::Feeds> {
    DigitBatch batch = shuffler.Next();
    return MonitoredSession::Feeds{{"images:0", batch.images}, {"labels:0", batch.labels}};
  };
  const DigitBatch all = AllOf(test);
  options.evaluation.metrics = {{"accuracy", "batch_accuracy:0"}, {"loss", "loss:0"}};
  options.evaluation.feeds = {
      {"images:0", all.images}, {"labels:0", all.labels}, {"noise:0", Tensor::Scalar(0.0f)}};
  return RunTaskProcess(&model, options);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a model of handwritten digits; TF_CONFIG says which task this is.");
  Flags flags;
  app.add_option("--data", flags.data, "Folder with train.tfrecord.gz and test.tfrecord.gz");
  app.add_option("--checkpoint_dir", flags.checkpoint_dir,
                 "Folder for checkpoints and event files");
  app.add_option("--max_steps", flags.max_steps, "Steps to train")->capture_default_str();
  app.add_option("--save_steps", flags.save_steps, "Steps between checkpoints")
      ->capture_default_str();
  app.add_option("--log_steps", flags.log_steps, "Steps between lines")->capture_default_str();
  app.add_option("--batch", flags.batch, "Digits in each step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--rate", flags.rate, "Learning rate")->capture_default_str();
  app.add_option("--export", flags.export_to, "Only write the model's MetaGraphDef to this file");
  CLI11_PARSE(app, argc, argv);
  const StatusOr<int> code = Run(flags);
  if (code.ok()) return *code;
  std::fprintf(stderr, "train_digits: %s\n", code.status().ToString().c_str());
  return kExitFailed;
}
