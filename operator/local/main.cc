// tensorfleet-run: what `tensorfleet run` starts. See --help and operator/docs/local_run.md.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "operator/local/flags.h"
#include "operator/local/job_file.h"
#include "operator/local/runner.h"
#include "operator/local/table.h"
#include "runtime/base/random_id.h"
#include "runtime/base/small_file.h"

namespace tensorfleet::local {
namespace {

namespace fs = std::filesystem;

constexpr int kRefused = 2;

int Fail(const Status& status) {
  std::fprintf(stderr, "tensorfleet run: %s\n", std::string(status.message()).c_str());
  return kRefused;
}

StatusOr<std::string> ReadInput(const std::string& file) {
  if (file != "-") return ReadSmallFile(file);
  std::stringstream text;
  text << std::cin.rdbuf();
  return text.str();
}

// The folder of this program; empty when the system does not say.
fs::path OwnFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::string RuntimeBinary(const Flags& flags) {
  if (!flags.runtime_binary.empty()) return flags.runtime_binary;
  const fs::path beside = OwnFolder() / "tensorfleet";
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : "tensorfleet";
}

// Makes the run's folder and takes it for this process: two runs in one would mix their logs.
StatusOr<std::string> TakeFolder(const Flags& flags, const std::string& job) {
  const fs::path wanted = flags.folder.empty() ? "tensorfleet-run/" + job : flags.folder;
  const fs::path folder = fs::absolute(wanted).lexically_normal();
  for (const char* part : {"logs", "progress", "volumes"}) {
    std::error_code error;
    fs::create_directories(folder / part, error);
    if (error)
      return InvalidArgument("cannot make ", (folder / part).string(), ": ", error.message());
  }
  const int lock = open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition(folder.string(),
                              " is in use by another run; choose another by --dir");
  }
  return folder.string();  // held until this process ends
}

ConsoleOptions ConsoleFor(const Flags& flags, const std::string& folder, const api::TFJob& job) {
  ConsoleOptions options;
  for (const api::ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = job.spec.Find(type);
    if (spec == nullptr || spec->replicas == 0) continue;
    const std::string last = absl::StrCat(api::LowerName(type), "-", spec->replicas - 1);
    options.prefix_width = std::max(options.prefix_width, last.size());
  }
  const bool terminal = isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  const char* no_colour = std::getenv("NO_COLOR");
  options.colour = flags.colour == "always" ||
                   (flags.colour == "auto" && terminal && (no_colour == nullptr || !*no_colour));
  options.live = terminal && !flags.plain;
  options.show_lines = flags.verbose || (!options.live && !flags.quiet);
  options.log_folder = folder + "/logs";
  return options;
}

int Run(const Flags& flags) {
  const StatusOr<std::string> text = ReadInput(flags.file);
  if (!text.ok()) return Fail(text.status());
  JobFileOptions reading{flags.file == "-" ? "stdin" : flags.file, flags.job, flags.overrides, {}};
  for (const auto& [name, folder] : flags.volumes) reading.given.volumes.insert(name);
  for (const auto& [name, value] : flags.variables) reading.given.variables.insert(name);
  const StatusOr<JobFile> file = ReadJobFile(*text, reading);
  if (!file.ok()) {
    // One fault a line, each with its place in front, as compilers do.
    std::fprintf(stderr, "%s\n", std::string(file.status().message()).c_str());
    return kRefused;
  }
  const StatusOr<std::string> folder = TakeFolder(flags, file->job->name);
  if (!folder.ok()) return Fail(folder.status());
  StatusOr<Addresses> addresses = Addresses::Choose(*file->job);
  if (!addresses.ok()) return Fail(addresses.status());

  LocalPodOptions options;
  options.volumes = {flags.volumes, *folder + "/volumes"};
  options.commands.runtime_binary = RuntimeBinary(flags);
  options.commands.program_folder = OwnFolder();
  options.commands.variables = flags.variables;
  options.commands.use_podman = flags.use_podman;
  options.commands.run_id = absl::StrCat(absl::Hex(RandomNonZero64()));
  options.progress_folder = *folder + "/progress";
  options.restart_delay = std::chrono::nanoseconds(static_cast<int64_t>(flags.restart_delay * 1e9));

  Console console(ConsoleFor(flags, *folder, *file->job));
  for (const std::string& notice : file->notices) console.Note(notice);
  if (!flags.use_podman) {
    console.Note("images are not used: commands run on this machine (--podman runs the images)");
  }
  console.Note(absl::StrCat("logs are in ", *folder, "/logs"));
  Runner runner(file->job, *std::move(addresses), std::move(options), &console);
  const StatusOr<int> code = runner.Run();
  for (const std::string& line : SummaryOf(runner.View(), *folder + "/logs")) console.Note(line);
  console.Flush();
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace
}  // namespace tensorfleet::local

int main(int argc, char** argv) {
  tensorfleet::local::Flags flags;
  int exit_code = 0;
  if (!tensorfleet::local::ParseFlags(argc, argv, &flags, &exit_code)) return exit_code;
  return tensorfleet::local::Run(flags);
}
