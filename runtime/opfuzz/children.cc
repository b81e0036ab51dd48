#include "runtime/opfuzz/children.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/check.h"

namespace tensorfleet::opfuzz {
namespace {

std::string LogPath(const ChildLimits& limits, int child) {
  return absl::StrCat(limits.scratch, "/child", child, ".log");
}

// The part of a log that says what happened: a sanitizer's report or a failed check, with what
// follows.
std::string Told(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t at = std::string::npos;
  for (const char* mark : {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                           "runtime error:", "terminate called", "check failed", "CHECK"}) {
    at = std::min(at, text.find(mark));
  }
  if (at == std::string::npos) at = text.size() > 600 ? text.size() - 600 : 0;
  if (at > 0 && text.rfind('\n', at) != std::string::npos) at = text.rfind('\n', at) + 1;
  const std::vector<std::string> lines = absl::StrSplit(text.substr(at, 6000), '\n');
  std::string told;
  for (size_t i = 0; i < lines.size() && i < 24; ++i)
    absl::StrAppend(&told, "    ", lines[i], "\n");
  return told;
}

int64_t ResidentBytes(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

class Children {
 public:
  Children(const ChildLimits& limits, Scoreboard* board, const std::function<void(int)>& work,
           const std::function<void(const Finding&)>& find)
      : limits_(limits),
        board_(*board),
        work_(work),
        find_(find),
        pids_(limits.count, 0),
        killed_for_(limits.count) {}

  void Run(const std::function<bool()>& over) {
    for (int child = 0; child < limits_.count; ++child) Start(child);
    int running = limits_.count;
    while (running > 0 && !over()) {
      running = 0;
      for (int child = 0; child < limits_.count; ++child) running += Watch(child) ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    for (const pid_t pid : pids_) {
      if (pid == 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

 private:
  void Start(int child) {
    board_.places[child].since_millis = 0;
    killed_for_[child].clear();
    pids_[child] = fork();
    TFLEET_CHECK(pids_[child] >= 0);
    if (pids_[child] == 0) Become(child);
  }

  [[noreturn]] void Become(int child) {
    const int log =
        open(LogPath(limits_, child).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit file_size = {64 << 20, 64 << 20}, no_core = {0, 0};
    setrlimit(RLIMIT_FSIZE, &file_size);
    setrlimit(RLIMIT_CORE, &no_core);
    if (limits_.address_space > 0) {
      const rlimit memory = {static_cast<rlim_t>(limits_.address_space),
                             static_cast<rlim_t>(limits_.address_space)};
      setrlimit(RLIMIT_AS, &memory);
    }
    const std::string folder = absl::StrCat(limits_.scratch, "/files", child);
    if (access(folder.c_str(), F_OK) != 0)
      TFLEET_CHECK(system(absl::StrCat("mkdir -p ", folder).c_str()) == 0);
    TFLEET_CHECK(chdir(folder.c_str()) == 0);
    work_(child);
    _exit(0);
  }

  // False when the child is done.
  bool Watch(int child) {
    if (pids_[child] == 0) return false;
    const Place& place = board_.places[child];
    const int64_t since = place.since_millis;
    if (killed_for_[child].empty() && since != 0 && NowMillis() - since > limits_.silent_millis) {
      End(child, absl::StrCat("no answer for ", limits_.silent_millis / 1000, " s"));
    }
    if (killed_for_[child].empty() && limits_.resident > 0 &&
        ResidentBytes(pids_[child]) > limits_.resident) {
      End(child, absl::StrCat("took more than ", limits_.resident >> 20, " MiB"));
    }
    int status = 0;
    if (waitpid(pids_[child], &status, WNOHANG) == 0) return true;
    pids_[child] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    Finding finding{place.number, place.step, killed_for_[child], Told(LogPath(limits_, child))};
    if (finding.what.empty()) {
      finding.what = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                                         : absl::StrCat("exit ", WEXITSTATUS(status));
    }
    find_(finding);
    Start(child);
    return true;
  }

  void End(int child, std::string why) {
    killed_for_[child] = std::move(why);
    kill(pids_[child], SIGKILL);
  }

  const ChildLimits& limits_;
  Scoreboard& board_;
  const std::function<void(int)>& work_;
  const std::function<void(const Finding&)>& find_;
  std::vector<pid_t> pids_;
  std::vector<std::string> killed_for_;  // by child: why this process ended it
};

}  // namespace

int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void RunChildren(const ChildLimits& limits, Scoreboard* board, const std::function<void(int)>& work,
                 const std::function<bool()>& over,
                 const std::function<void(const Finding&)>& find) {
  Children(limits, board, work, find).Run(over);
}

}  // namespace tensorfleet::opfuzz
