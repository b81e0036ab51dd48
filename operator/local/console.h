// What the user sees: lines of replicas with a coloured prefix, notes, and on a terminal a status
// of one or more lines that stays at the bottom. Lines also go to the replica's file, or only
// there.
#pragma once

#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tensorfleet::local {

struct ConsoleOptions {
  bool colour = false;
  bool live = false;        // the status is drawn
  bool show_lines = true;   // else lines of replicas go to their files only
  std::string log_folder;   // one file for each replica, begun anew
  size_t prefix_width = 0;  // of the widest prefix that is expected
  std::FILE* lines = stdout;
  std::FILE* notes = stderr;
};

class Console {
 public:
  explicit Console(ConsoleOptions options)
      : options_(std::move(options)), width_(options_.prefix_width) {}
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // `text` without its newline. `replica` names the file and the prefix.
  void Line(const std::string& replica, absl::string_view text);
  // A word from us.
  void Note(absl::string_view text);
  // Lines that are drawn below everything else, in place of the last ones.
  void SetStatus(const std::string& text);
  // How many of them there is room for.
  size_t MaxStatusLines() const;
  // Takes the status away.
  void ClearStatus() { SetStatus(""); }
  void Flush();

 private:
  struct Stream {
    std::FILE* file = nullptr;
    int colour = 0;
  };

  Stream& StreamOf(const std::string& replica);
  void Erase();
  void Draw();

  const ConsoleOptions options_;
  std::map<std::string, Stream> streams_;
  size_t width_;  // of the widest prefix so far
  std::string status_;
  size_t drawn_ = 0;  // lines of status on the screen
};

// Cuts bytes into lines; what is longer than 64 KiB is cut there.
class LineBuffer {
 public:
  template <typename OnLine>
  void Feed(absl::string_view data, OnLine on_line) {
    while (!data.empty()) {
      const size_t end = data.find('\n');
      rest_.append(data.data(), end == absl::string_view::npos ? data.size() : end);
      data.remove_prefix(end == absl::string_view::npos ? data.size() : end + 1);
      if (end != absl::string_view::npos || rest_.size() >= kMaxLine) {
        on_line(rest_);
        rest_.clear();
      }
    }
  }
  // The line that never ended.
  template <typename OnLine>
  void Finish(OnLine on_line) {
    if (!rest_.empty()) on_line(rest_);
    rest_.clear();
  }

 private:
  static constexpr size_t kMaxLine = 64 * 1024;
  std::string rest_;
};

}  // namespace tensorfleet::local
