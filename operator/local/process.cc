#include "operator/local/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tensorfleet::local {
namespace {

enum class Stage : int { kFolder, kProgram };

struct StartError {
  Stage stage;
  int number;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    // A cluster that this process is part of is not that of the job.
    if (name != "TF_CONFIG" && variables.count(name) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

// In a child: what this process has blocked, programs expect to be told of.
void UnblockSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child, between fork and exec.
[[noreturn]] void Exec(char* const* argv, char* const* envp, const char* folder, int output,
                       int errors, pid_t parent) {
  setpgid(0, 0);
  // Nothing survives this program, not even when it is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  UnblockSignals();
  signal(SIGPIPE, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  StartError error{Stage::kFolder, 0};
  if (*folder == '\0' || chdir(folder) == 0) {
    error.stage = Stage::kProgram;
    execvpe(argv[0], argv, envp);
  }
  error.number = errno;
  (void)!write(errors, &error, sizeof(error));
  _exit(127);
}

void RunAndForget(const std::vector<std::string>& argv) {
  const pid_t first = fork();
  if (first == 0) {
    if (fork() != 0) _exit(0);  // the grandchild is nobody's to reap
    UnblockSignals();
    std::vector<std::string> copy = argv;
    execvp(copy[0].data(), Pointers(copy).data());
    _exit(127);
  }
  if (first > 0) waitpid(first, nullptr, 0);
}

}  // namespace

StatusOr<std::unique_ptr<Process>> Process::Start(const Command& command) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = Environment(command.variables);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> environment_pointers = Pointers(environment);
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return ResourceExhausted("pipe: ", strerror(errno));
  if (pipe2(errors, O_CLOEXEC) != 0) {
    close(output[0]);
    close(output[1]);
    return ResourceExhausted("pipe: ", strerror(errno));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    Exec(argv_pointers.data(), environment_pointers.data(), command.folder.c_str(), output[1],
         errors[1], parent);
  }
  const int fork_errno = errno;
  close(output[1]);
  close(errors[1]);
  StartError error{};
  ssize_t got = 0;
  if (pid > 0) {
    setpgid(pid, pid);  // whoever is first; a signal may come before the child has run
    do {
      got = read(errors[0], &error, sizeof(error));  // until exec has closed it
    } while (got < 0 && errno == EINTR);
  }
  close(errors[0]);
  if (pid < 0 || got > 0) {
    close(output[0]);
    if (pid < 0) return ResourceExhausted("fork: ", strerror(fork_errno));
    waitpid(pid, nullptr, 0);
    const std::string& name = error.stage == Stage::kFolder ? command.folder : command.argv[0];
    if (error.number == ENOENT) return NotFound(name, ": ", strerror(error.number));
    return FailedPrecondition(name, ": ", strerror(error.number));
  }
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<Process>(new Process(pid, output[0], command.kill));
}

Process::~Process() {
  CloseOutput();
  if (ended_) return;
  Kill();
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) {
  if (!ended_) kill(-pid_, signal);
}

void Process::Kill() {
  if (!kill_.empty()) RunAndForget(kill_);
  Signal(SIGKILL);
}

bool Process::Reap() {
  if (ended_) return true;
  siginfo_t info{};
  // The process is left a zombie until its group is dead: until then nobody else gets its number.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return false;
  }
  kill(-pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended_ = true;
  return true;
}

void Process::ReadOutput(std::string* out) {
  if (output_ < 0) return;
  char buffer[16 * 1024];
  // At most so much at a time: one talkative process must not keep the others waiting.
  for (int round = 0; round < 8; ++round) {
    const ssize_t got = read(output_, buffer, sizeof(buffer));
    if (got > 0) {
      out->append(buffer, static_cast<size_t>(got));
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    CloseOutput();
    return;
  }
}

void Process::CloseOutput() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

}  // namespace tensorfleet::local
