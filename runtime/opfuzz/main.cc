// The op fuzzer: random nodes and graphs made from the schemas, run on a master and workers in
// processes of their own.
//
// opfuzz --seconds 60: for so long; prints each finding with the command that replays it.
//
// opfuzz --seed 7 --replay 1234: one case in this process, with its graph printed first.
//
// opfuzz --ops MatMul --explain: what becomes of the first cases of an op, in this process.
//
// opfuzz --write FILE --count 5000: writes the cases for compare.py, which runs them beside
// TensorFlow.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/opfuzz/case.h"
#include "runtime/opfuzz/fenced_buffers.h"
#include "runtime/opfuzz/observed_kernels.h"
#include "runtime/opfuzz/report.h"
#include "runtime/opfuzz/runner.h"
#include "runtime/opfuzz/write_cases.h"
#include "runtime/ops/all.h"
#include "runtime/tensor/buffer.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TFLEET_OPFUZZ_SANITIZED 1
#endif
#endif

namespace tensorfleet::opfuzz {
namespace {

#ifdef TFLEET_OPFUZZ_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

struct Options {
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t count = ~uint64_t{0};
  int64_t replay = -1;
  double seconds = 60;
  int jobs = 2;
  int64_t memory_mib =
      kIsSanitized ? 0 : 4096;  // address space cannot be limited under the sanitizers
  int64_t resident_mib = kIsSanitized ? 8192 : 3072;
  int64_t silent_seconds = kIsSanitized ? 60 : 20;
  int64_t step_millis = kIsSanitized ? 1000 : 200;
  std::string ops;
  std::string write;
  int64_t tensor_mib = 64;
  bool fence = !kIsSanitized;
  bool table = false;
  bool explain = false;
};

// Abort ends the process by its meaning; a cluster runs on accelerators only.
bool IsLeftOut(const std::string& op) { return op == "Abort" || op == "_Cluster"; }

std::vector<std::string> FuzzedOps() {
  std::vector<std::string> ops = BuiltinOps().Names();
  ops.erase(std::remove_if(ops.begin(), ops.end(), IsLeftOut), ops.end());
  return ops;
}

// Every sixteenth case is a graph of many nodes.
bool IsGraph(uint64_t number) { return number % 16 == 15; }

class Fuzzer {
 public:
  explicit Fuzzer(const Options& options)
      : options_(options),
        ops_(FuzzedOps()),
        runner_(2, options.step_millis),
        maker_(options.seed, ops_, &ObservedKernels()) {}

  Case Make(uint64_t number) {
    return IsGraph(number) ? maker_.MakeGraph(number, runner_.devices())
                           : maker_.MakeOp(number, runner_.devices()[0]);
  }
  bool Selects(uint64_t number) const {
    if (options_.ops.empty()) return true;
    return !IsGraph(number) && absl::StrContains(absl::StrCat(",", options_.ops, ","),
                                                 absl::StrCat(",", OpOfCase(ops_, number), ","));
  }

  // Takes numbers until there are no more.
  void Work(Scoreboard* board, int child) {
    Place& place = board->places[child];
    for (int cases = 1;; ++cases) {
      const uint64_t number = board->next_number++;
      if (number >= options_.first + options_.count) return;
      if (!Selects(number)) continue;
      if (cases % 500 == 0 && ftruncate(STDERR_FILENO, 0) != 0) return;  // ops that print
      RunOne(number, board, &place);
    }
  }

  void RunOne(uint64_t number, Scoreboard* board, Place* place) {
    place->number = number;
    place->step = -2;
    place->since_millis = NowMillis();
    const Case made = Make(number);
    const size_t op = made.op.empty()
                          ? ops_.size()
                          : std::lower_bound(ops_.begin(), ops_.end(), made.op) - ops_.begin();
    runner_.Run(
        made,
        [&](int step) {
          place->step = step;
          place->since_millis = NowMillis();
        },
        [&](int step, const Outcome& outcome) {
          OpCount& count = board->ops[op];
          ++count.executions;
          count.reached += outcome.reached ? 1 : 0;
          count.succeeded += outcome.status.ok() ? 1 : 0;
          if (!outcome.complaint.empty()) board->AddNote(number, step, outcome.complaint);
          if (outcome.late_millis > options_.silent_seconds * 500) {
            board->AddNote(
                number, step,
                absl::StrCat(made.op, " answered ", outcome.late_millis, " ms after its deadline"));
          }
        });
    place->since_millis = 0;
  }

  // How often each answer came.
  void Explain() {
    std::map<std::string, std::pair<int, uint64_t>> answers;
    for (uint64_t number = options_.first, cases = 0;
         cases < 100 && number < options_.first + options_.count; ++number) {
      if (!Selects(number)) continue;
      ++cases;
      runner_.Run(
          Make(number), [](int) {},
          [&](int, const Outcome& outcome) {
            std::string answer = absl::StrCat(outcome.reached ? "reached: " : "not reached: ",
                                              outcome.status.ToString());
            answer = WithoutValues(std::move(answer)).substr(0, 300);
            auto& [count, first] = answers[answer];
            if (count++ == 0) first = number;
          });
    }
    for (const auto& [answer, seen] : answers) {
      std::printf("%4d (first %llu) %s\n", seen.first, static_cast<unsigned long long>(seen.second),
                  answer.c_str());
    }
  }

  void Replay(uint64_t number) {
    const Case made = Make(number);
    std::printf("%s\n", made.graph.DebugString().c_str());
    for (const std::string& target : made.first) std::printf("first: %s\n", target.c_str());
    for (size_t step = 0; step < made.steps.size(); ++step) {
      for (const Feed& feed : made.steps[step]) {
        std::printf("step %zu feeds %s: %s\n", step, feed.name.c_str(),
                    feed.value.ToString(20).c_str());
      }
    }
    std::fflush(stdout);
    runner_.Run(
        made, [](int) {},
        [&](int step, const Outcome& outcome) {
          std::printf("step %d: %s%s%s%s\n", step, outcome.status.ToString().c_str(),
                      outcome.reached ? " (reached)" : "",
                      outcome.complaint.empty() ? "" : "; WRONG: ", outcome.complaint.c_str());
          std::fflush(stdout);
        });
  }

 private:
  const Options& options_;
  const std::vector<std::string> ops_;
  Runner runner_;
  CaseMaker maker_;
};

int Fuzz(const Options& options, const char* program) {
  Scoreboard* board = Scoreboard::Make();
  board->next_number = options.first;
  ChildLimits limits;
  limits.count = options.jobs;
  limits.address_space = options.memory_mib << 20;
  limits.resident = options.resident_mib << 20;
  limits.silent_millis = options.silent_seconds * 1000;
  char scratch[] = "/tmp/opfuzz.XXXXXX";
  if (mkdtemp(scratch) == nullptr) return 2;
  limits.scratch = scratch;
  const std::string replay = absl::StrCat(program, " --seed ", options.seed, " --replay ");
  const int64_t start = NowMillis();
  std::vector<Finding> findings;
  RunChildren(
      limits, board, [&](int child) { Fuzzer(options).Work(board, child); },
      [&] { return NowMillis() - start > options.seconds * 1000; },
      [&](const Finding& finding) {
        findings.push_back(finding);
        const std::string op =
            IsGraph(finding.number) ? "a graph" : OpOfCase(FuzzedOps(), finding.number);
        std::printf("FOUND %s: %s in %s%llu (step %d)\n%s", finding.what.c_str(), op.c_str(),
                    replay.c_str(), static_cast<unsigned long long>(finding.number), finding.step,
                    finding.log.c_str());
        std::fflush(stdout);
      });
  std::error_code ignored;
  std::filesystem::remove_all(limits.scratch, ignored);
  ReportInput input;
  input.ops = FuzzedOps();
  input.ops.push_back("(graphs of many ops)");
  input.replay = replay;
  input.seconds = (NowMillis() - start) / 1000.0;
  input.whole_table = options.table;
  return Report(input, *board, findings) == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The op fuzzer.");
  app.add_option("--seed", options.seed, "what the cases are made of");
  app.add_option("--first", options.first, "number of the first case");
  app.add_option("--count", options.count, "how many cases");
  app.add_option("--replay", options.replay, "print this case and run it in this process");
  app.add_option("--seconds", options.seconds, "end after so long");
  app.add_option("--jobs", options.jobs, "processes at once")->check(CLI::Range(1, kMaxChildren));
  app.add_option("--memory", options.memory_mib,
                 "address space of each process in MiB; 0: no limit");
  app.add_option("--resident", options.resident_mib,
                 "memory in use that is a finding, in MiB; 0: none");
  app.add_option("--step_millis", options.step_millis, "deadline of a step");
  app.add_option("--silent_seconds", options.silent_seconds,
                 "a step that takes longer is a finding");
  app.add_option("--ops", options.ops, "only these, separated by commas");
  app.add_option("--write", options.write,
                 "write --count cases to this file instead of running them");
  app.add_option("--tensor_mib", options.tensor_mib, "the most that one tensor may take");
  app.add_flag("--fence,!--no-fence", options.fence, "let nothing be touched around tensors");
  app.add_flag("--explain", options.explain, "count the answers of the first 100 cases of --ops");
  app.add_flag("--table", options.table, "a line for each op, not only for those below half");
  CLI11_PARSE(app, argc, argv);
  SetLogLevel(LogLevel::kError);
  SetMaxHostBufferBytes(options.tensor_mib << 20);
  if (options.fence) FenceTensors();
  if (options.explain) {
    Fuzzer(options).Explain();
    return 0;
  }
  if (options.replay >= 0) {
    Fuzzer(options).Replay(options.replay);
    return 0;
  }
  if (!options.write.empty()) {
    Fuzzer fuzzer(options);
    CaseWriter writer(options.write);
    for (uint64_t number = options.first; number < options.first + options.count; ++number) {
      if (fuzzer.Selects(number) && !IsGraph(number)) writer.Write(fuzzer.Make(number));
    }
    return writer.is_good() ? 0 : 2;
  }
  return Fuzz(options, argv[0]);
}

}  // namespace
}  // namespace tensorfleet::opfuzz

int main(int argc, char** argv) { return tensorfleet::opfuzz::Main(argc, argv); }
