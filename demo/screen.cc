// SPDX-License-Identifier: Apache-2.0
#include "demo/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "demo/lines.h"

namespace tranche::demo {
namespace {

constexpr std::size_t kIndent = 3;
constexpr std::size_t kWhoColumn = 9;
// Longer lines are hard to read, however wide the terminal is.
constexpr std::size_t kWidestProse = 96;
constexpr std::size_t kUsualColumns = 80;
// Below this many columns, whole uuids break tables.
constexpr std::size_t kRoomForUuids = 120;

bool wants_paint() {
  // Before any thread is made, and nobody sets variables afterwards.
  const char* refused = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  const char* terminal = std::getenv("TERM");     // NOLINT(concurrency-mt-unsafe)
  return (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kStrong: return "\033[1m";
    case Tone::kQuiet: return "\033[36m";
    case Tone::kGood: return "\033[32m";
    case Tone::kBad: return "\033[31m";
  }
  return "";
}

}  // namespace

Screen::Screen(int fd)
    : fd_(fd), is_terminal_(::isatty(fd) == 1), is_painted_(is_terminal_ && wants_paint()) {}

std::size_t Screen::columns() const {
  if (!is_terminal_) return 0;
  winsize size{};
  const bool known = ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

bool Screen::cuts_uuids() const {
  const std::size_t width = columns();
  return width > 0 && width < kRoomForUuids;
}

std::string Screen::fitted(const std::string& text) const {
  return cuts_uuids() ? shorten_uuids(text) : text;
}

std::string Screen::painted(std::string_view text, Tone tone) const {
  if (!is_painted_ || tone == Tone::kPlain) return std::string(text);
  return std::string(code_of(tone)).append(text).append("\033[0m");
}

void Screen::heading(const std::string& text) { write("\n" + painted(text, Tone::kStrong) + "\n"); }

void Screen::say(const std::string& text) {
  const std::size_t width = columns();
  const std::size_t room = width == 0 ? kWidestProse : std::min(width, kWidestProse);
  for (const std::string& line : wrap(text, room - std::min(room, kIndent))) {
    write(std::string(kIndent, ' ') + line + "\n");
  }
}

void Screen::block(const std::string& text, Tone tone) {
  for (const std::string& line : split(fitted(text), '\n')) {
    write(line.empty() ? "\n" : std::string(kIndent, ' ') + painted(line, tone) + "\n");
  }
}

void Screen::line(const std::string& who, std::string_view text, Tone tone) {
  const std::size_t taken = kIndent + kWhoColumn;
  const std::size_t width = columns();
  std::string label = who;
  label.resize(std::max(kWhoColumn, who.size() + 1), ' ');
  label = painted(label, Tone::kQuiet);
  for (const std::string& part :
       wrap(fitted(std::string(text)), width > taken ? width - taken : width)) {
    write(std::string(kIndent, ' ') + label + painted(part, tone) + "\n");
    label.assign(kWhoColumn, ' ');
  }
}

void Screen::log(std::string_view line) {
  const std::string_view text = without_time(line);
  const bool is_trouble = text.starts_with("warning") || text.starts_with("error");
  this->line("agent", text, is_trouble ? Tone::kBad : Tone::kPlain);
}

void Screen::write(std::string_view text) {
  while (!text.empty() && is_open_) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      is_open_ = false;
    } else {
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
}

}  // namespace tranche::demo
