#include "operator/local/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace tensorfleet::local {
namespace {

// Colours that read well on dark and on light.
constexpr int kColours[] = {36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91};

size_t TerminalWidth(std::FILE* file) {
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
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
  if (!options_.live) return;
  Erase();
  status_ = text;
  Draw();
}

void Console::Erase() {
  if (!drawn_) return;
  std::fflush(options_.lines);
  std::fputs("\r\x1b[K", options_.notes);
  drawn_ = false;
}

void Console::Draw() {
  if (!options_.live || drawn_ || status_.empty()) return;
  const size_t width = TerminalWidth(options_.notes);
  const std::string shown = status_.substr(0, width > 1 ? width - 1 : 1);
  std::fprintf(options_.notes, options_.colour ? "\x1b[7m%s\x1b[0m" : "%s", shown.c_str());
  drawn_ = true;
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
