// SPDX-License-Identifier: Apache-2.0
//
// The terminal: headings, sentences, and what programs said. Fits them to its
// width, which may change while we run, and paints them where that is wanted.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tranche::demo {

enum class Tone { kPlain, kStrong, kQuiet, kGood, kBad };

class Screen {
 public:
  // Writes to this file descriptor.
  explicit Screen(int fd);

  bool is_terminal() const { return is_terminal_; }
  // False when nobody reads any more.
  bool is_open() const { return is_open_; }

  // Whether uuids are cut short, for want of room.
  bool cuts_uuids() const;

  void heading(const std::string& text);
  // Sentences of our own.
  void say(const std::string& text);
  // What a program printed: lines as they are.
  void block(const std::string& text, Tone tone = Tone::kPlain);
  // What somebody said or got: `who` in a column of its own.
  void line(const std::string& who, std::string_view text, Tone tone = Tone::kPlain);
  // A line of the agent's log; its level decides the tone.
  void log(std::string_view line);
  void gap() { write("\n"); }

 private:
  std::size_t columns() const;  // 0: no limit
  std::string fitted(const std::string& text) const;
  std::string painted(std::string_view text, Tone tone) const;
  void write(std::string_view text);

  const int fd_;
  const bool is_terminal_;
  const bool is_painted_;
  bool is_open_ = true;
};

}  // namespace tranche::demo
