// Commands that are programs of the operator's: `run`, `top`, `ui`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "runtime/cli/commands.h"

namespace tensorfleet::cli {
namespace {

// `program` beside this one, else that in PATH, as git finds its commands. Returns on failure.
void Become(const char* program, std::vector<std::string> args) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / program).string();
  args.insert(args.begin(), program);
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  if (!error) execv(beside.c_str(), argv.data());
  if (error || errno == ENOENT) execvp(program, argv.data());
}

// `before`: words in front of the user's.
void AddSibling(CLI::App* app, const char* name, const char* help, const char* program,
                std::vector<std::string> before, int* exit_code) {
  CLI::App* command = app->add_subcommand(name, help);
  // Everything behind it, --help included, is for the other program.
  command->set_help_flag();
  command->prefix_command();
  command->callback([=] {
    std::vector<std::string> args = before;
    for (const std::string& word : command->remaining()) args.push_back(word);
    Become(program, std::move(args));
    std::cerr << "tensorfleet: cannot start " << program << ": " << std::strerror(errno)
              << "; it is built with the operator and belongs beside this program\n";
    *exit_code = 1;
  });
}

}  // namespace

void AddSiblingCommands(CLI::App* app, int* exit_code) {
  AddSibling(app, "run", "Runs a TFJob on this machine, a process for each replica (`run --help`)",
             "tensorfleet-run", {}, exit_code);
  AddSibling(app, "top", "Shows a TFJob's tasks while it runs in a cluster (`top --help`)",
             "tensorfleet-view", {"top"}, exit_code);
  AddSibling(app, "ui", "Shows a cluster's TFJobs in a browser (`ui --help`)", "tensorfleet-view",
             {"ui"}, exit_code);
}

}  // namespace tensorfleet::cli
