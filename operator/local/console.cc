#include "operator/local/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "operator/local/table.h"

namespace tensorfleet::local {
namespace {

// Colours that read well on dark and on light.
constexpr int kColours[] = {36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91};

winsize TerminalSize(std::FILE* file) {
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0) size = {};
  if (size.ws_col == 0) size.ws_col = 80;
  if (size.ws_row == 0) size.ws_row = 24;
  return size;
}

}  // namespace

Console::~Console() {
  ClearStatus();
  for (auto& [name, stream] : streams_) {
    if (stream.file != nullptr) std::fclose(stream.file);
  }
}

Console::Stream& Console::StreamOf(const std::string& replica) {
  const auto found = streams_.find(replica);
  if (found != streams_.end()) return found->second;
  Stream& stream = streams_[replica];
  stream.colour = kColours[(streams_.size() - 1) % std::size(kColours)];
  width_ = std::max(width_, replica.size());
  const std::string path = absl::StrCat(options_.log_folder, "/", replica, ".log");
  stream.file = std::fopen(path.c_str(), "we");
  if (stream.file == nullptr) Note(absl::StrCat("cannot write ", path));
  return stream;
}

void Console::Line(const std::string& replica, absl::string_view text) {
  Stream& stream = StreamOf(replica);
  if (stream.file != nullptr) {
    std::fprintf(stream.file, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
  if (!options_.show_lines) return;
  // A carriage return would overwrite the prefix.
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (const size_t last = text.rfind('\r'); last != absl::string_view::npos) {
    text.remove_prefix(last + 1);
  }
  Erase();
  const int pad = static_cast<int>(width_ - replica.size());
  if (options_.colour) {
    std::fprintf(options_.lines, "\x1b[%dm%s%*s |\x1b[0m %.*s\n", stream.colour, replica.c_str(),
                 pad, "", static_cast<int>(text.size()), text.data());
  } else {
    std::fprintf(options_.lines, "%s%*s | %.*s\n", replica.c_str(), pad, "",
                 static_cast<int>(text.size()), text.data());
  }
}

void Console::Note(absl::string_view text) {
  Erase();
  std::fflush(options_.lines);
  std::fprintf(options_.notes, options_.colour ? "\x1b[1m%.*s\x1b[0m\n" : "%.*s\n",
               static_cast<int>(text.size()), text.data());
}

void Console::SetStatus(const std::string& text) {
  if (!options_.live || (text == status_ && (drawn_ > 0 || text.empty()))) return;
  Erase();
  status_ = text;
  Draw();
}

size_t Console::MaxStatusLines() const {
  const size_t rows = TerminalSize(options_.notes).ws_row;
  return rows > 2 ? rows - 2 : 1;
}

void Console::Erase() {
  if (drawn_ == 0) return;
  std::fflush(options_.lines);
  std::fputs("\r\x1b[K", options_.notes);
  for (size_t line = 1; line < drawn_; ++line) std::fputs("\x1b[A\x1b[K", options_.notes);
  drawn_ = 0;
}

void Console::Draw() {
  if (!options_.live || drawn_ > 0 || status_.empty()) return;
  const size_t width = TerminalSize(options_.notes).ws_col, most = MaxStatusLines();
  for (const absl::string_view line : absl::StrSplit(status_, '\n')) {
    if (drawn_ == most) break;
    if (drawn_ > 0) std::fputs("\r\n", options_.notes);
    // The first one stands out.
    const bool stands_out = options_.colour && drawn_ == 0;
    const std::string shown(FirstCharacters(line, width > 1 ? width - 1 : 1));
    std::fprintf(options_.notes, "%s%s%s", stands_out ? "\x1b[7m" : "", shown.c_str(),
                 stands_out ? "\x1b[0m" : "");
    ++drawn_;
  }
}

void Console::Flush() {
  Draw();
  std::fflush(options_.lines);
  std::fflush(options_.notes);
  for (auto& [name, stream] : streams_) {
    if (stream.file != nullptr) std::fflush(stream.file);
  }
}

}  // namespace tensorfleet::local
