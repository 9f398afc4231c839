// SPDX-License-Identifier: Apache-2.0
#include "os/log.h"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace tranche::os {
namespace {

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "?";
}

// Control characters must not forge a second line or move a terminal's cursor, and a line is
// valid UTF-8 in either format.
void append_escaped(std::string& out, std::string_view text) {
  std::size_t plain = plain_prefix(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i > plain) plain = i + plain_prefix(text.substr(i));
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else if (i == plain) {
      out += "\\ufffd";
    } else {
      out += c;
    }
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" \t\r\n\"=\\") != std::string_view::npos;
}

std::string text_line(LogLevel level, std::string_view message, Log::Fields fields) {
  std::string line(level_name(level));
  line.resize(8, ' ');
  append_escaped(line, message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (needs_quotes(field.value)) {
      append_quoted(line, field.value);
    } else {
      append_escaped(line, field.value);
    }
  }
  return line;
}

std::string json_line(LogLevel level, std::string_view message, Log::Fields fields) {
  std::string line = R"("level":)";
  append_quoted(line, level_name(level));
  line += R"(,"message":)";
  append_quoted(line, message);
  for (const LogField& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    append_quoted(line, field.value);
  }
  return line;
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%s.%03dZ", date.data(), static_cast<int>(ms % 1000));
  return text.data();
}

void to_standard_error(std::string_view line) {
  // A log that cannot be written must not stop the agent.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

std::string format_log_line(LogFormat format, LogLevel level, std::string_view message,
                            Log::Fields fields) {
  return format == LogFormat::kText ? text_line(level, message, fields)
                                    : json_line(level, message, fields);
}

Log::Log() : Log(to_standard_error) {}
Log::Log(Sink sink) : sink_(std::move(sink)) {}

void Log::configure(LogFormat format, LogLevel least) {
  const std::lock_guard lock(mutex_);
  format_ = format;
  least_ = least;
}

void Log::debug(std::string_view message, Fields fields) const {
  write(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, Fields fields) const {
  write(LogLevel::kInfo, message, fields);
}
void Log::warning(std::string_view message, Fields fields) const {
  write(LogLevel::kWarning, message, fields);
}
void Log::error(std::string_view message, Fields fields) const {
  write(LogLevel::kError, message, fields);
}

void Log::write(LogLevel level, std::string_view message, Fields fields) const {
  const std::lock_guard lock(mutex_);
  if (level < least_) return;
  const std::string body = format_log_line(format_, level, message, fields);
  sink_(format_ == LogFormat::kText ? fmt::format("{} {}\n", utc_now(), body)
                                    : fmt::format("{{\"time\":\"{}\",{}}}\n", utc_now(), body));
}

bool OnChange::changed(const std::string& key, const std::string& text) {
  const auto [place, is_new] = last_.try_emplace(key, text);
  if (is_new) return true;
  if (place->second == text) return false;
  place->second = text;
  return true;
}

}  // namespace tranche::os
