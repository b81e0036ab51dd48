#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "runtime/cli/commands.h"

namespace tensorfleet::cli {
namespace {

constexpr char kProgram[] = "tensorfleet-run";

// The program beside this one, else that in PATH, as git finds its commands. Returns on failure.
void Become(std::vector<std::string> args) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / kProgram).string();
  args.insert(args.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  if (!error) execv(beside.c_str(), argv.data());
  if (error || errno == ENOENT) execvp(kProgram, argv.data());
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "run", "Runs a TFJob on this machine, a process for each replica (`run --help`)");
  // Everything behind it, --help included, is for the other program.
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, exit_code] {
    Become(command->remaining());
    std::cerr << "tensorfleet: cannot start " << kProgram << ": " << std::strerror(errno)
              << "; it is built with the operator and belongs beside this program\n";
    *exit_code = 1;
  });
}

}  // namespace tensorfleet::cli
