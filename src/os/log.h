// SPDX-License-Identifier: Apache-2.0
//
// Log lines: a message and its values, one line each, as text (`message key=value`) or JSON. Only
// edges log, and only changes; pure code has no logger.
//
// Thread-safe: a line is one write.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log_options.h"

namespace tranche::os {

struct LogField {
  std::string_view key;
  std::string value;
};

class Log {
 public:
  // Gets whole lines, newline included.
  using Sink = std::function<void(std::string_view line)>;

  // To standard error.
  Log();
  explicit Log(Sink sink);

  void configure(LogFormat format, LogLevel least);

  using Fields = std::initializer_list<LogField>;
  void debug(std::string_view message, Fields fields = {}) const;
  void info(std::string_view message, Fields fields = {}) const;
  void warning(std::string_view message, Fields fields = {}) const;
  void error(std::string_view message, Fields fields = {}) const;

 private:
  void write(LogLevel level, std::string_view message, Fields fields) const;

  const Sink sink_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  LogFormat format_ = LogFormat::kText;
  LogLevel least_ = LogLevel::kInfo;
};

// Remembers the last text by key, so that a polled state is logged only when it changes. Not
// thread-safe: belongs to one thread.
class OnChange {
 public:
  // True if `text` differs from the last text for `key`.
  bool changed(const std::string& key, const std::string& text);
  void forget(const std::string& key) { last_.erase(key); }

 private:
  std::map<std::string, std::string> last_;
};

// The line without the time; for tests of the formats.
std::string format_log_line(LogFormat format, LogLevel level, std::string_view message,
                            Log::Fields fields);

}  // namespace tranche::os
