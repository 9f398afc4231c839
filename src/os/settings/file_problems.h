// SPDX-License-Identifier: Apache-2.0
//
// Collects all problems of a file while it is read, so that a person sees them at once, and its
// warnings. Not thread-safe: belongs to one reading of one file.
#pragma once

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tranche::os {

class FileProblems {
 public:
  explicit FileProblems(std::string path) : path_(std::move(path)) {}

  // "config.yaml:3".
  std::string place(unsigned line) const { return fmt::format("{}:{}", path_, line); }

  // `key` as a person would write it: "sharing.timeSlicing.resources[0].name".
  void add(unsigned line, const std::string& key, const std::string& what) {
    found_.emplace(line, sentence(line, key, what));
  }
  void remark(unsigned line, const std::string& key, const std::string& what) {
    remarks_.push_back(sentence(line, key, what));
  }

  // Accepted, but most likely a mistake.
  void warn(unsigned line, const std::string& key, const std::string& what) {
    warnings_.push_back(sentence(line, key, what));
  }

  bool empty() const { return found_.empty(); }
  // In the file's order.
  std::vector<std::string> sorted() const {
    std::vector<std::string> sentences;
    for (const auto& [line, text] : found_) sentences.push_back(text);
    return sentences;
  }
  const std::vector<std::string>& remarks() const { return remarks_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::string sentence(unsigned line, const std::string& key, const std::string& what) const {
    return fmt::format("{}: {}{}", place(line), key.empty() ? "" : key + ": ", what);
  }

  std::string path_;
  std::multimap<unsigned, std::string> found_;  // by line, then in order of detection
  std::vector<std::string> remarks_;
  std::vector<std::string> warnings_;
};

}  // namespace tranche::os
