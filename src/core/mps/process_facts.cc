// SPDX-License-Identifier: Apache-2.0
#include "core/mps/process_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace tranche::core {
namespace {

constexpr std::size_t kShownIdLength = 12;
constexpr std::size_t kContainerIdLength = 64;
constexpr std::size_t kStartField = 20;  // behind the name

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// The value behind "Name:"; empty: there is none.
std::string_view value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return {};
  return trim(line.substr(name.size()));
}

// A pod's UID in a part of a path: "pod<uid>", or "kubepods-besteffort-pod<uid with _>.slice".
std::string pod_in(std::string_view part) {
  if (part.ends_with(".slice")) part.remove_suffix(6);
  const std::size_t at = part.rfind("pod");
  if (at == std::string_view::npos || (at > 0 && part[at - 1] != '-')) return {};
  std::string uid(part.substr(at + 3));
  std::ranges::replace(uid, '_', '-');
  std::string digits = uid;
  std::erase(digits, '-');
  // A static pod's is a hash without dashes.
  return digits.size() == 32 && is_hex(digits) ? uid : "";
}

// A container's id: "cri-containerd-<id>.scope", "crio-<id>.scope", "<id>".
std::string container_in(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  if (part.size() < kContainerIdLength) return {};
  const std::string_view id = part.substr(part.size() - kContainerIdLength);
  return is_hex(id) ? std::string(id) : "";
}

}  // namespace

std::string describe(const ProcessFacts& process) {
  std::string text =
      fmt::format("process {} ({}, uid {}", process.pid, process.command, process.uid);
  if (!process.pod.empty()) text += ", pod " + process.pod;
  if (!process.container.empty()) {
    text += ", container " + process.container.substr(0, kShownIdLength);
  }
  return text + ")";
}

void take_status(std::string_view text, ProcessFacts& facts) {
  for (const std::string& line : split(text, '\n')) {
    if (const auto name = value_of(line, "Name:"); !name.empty()) {
      facts.command = printable(name);
    }
    if (const auto parent = value_of(line, "PPid:"); !parent.empty()) {
      facts.parent = parse_number<pid_t>(parent).value_or(0);
    }
    if (const auto state = value_of(line, "State:"); !state.empty()) {
      facts.is_dead = state[0] == 'Z' || state[0] == 'X';
      facts.is_stopped = state[0] == 'T' || state[0] == 't';
    }
    if (const auto uids = value_of(line, "Uid:"); !uids.empty()) {
      const std::vector<std::string> four = split(uids, '\t');
      facts.may_be_root = std::ranges::find(four, "0") != four.end();
      if (four.size() > 1) facts.uid = parse_number<unsigned>(four[1]).value_or(0);
    }
  }
}

void take_cgroup(std::string_view text, ProcessFacts& facts) {
  for (const std::string& line : split(text, '\n')) {
    std::string pod;
    std::string container;
    for (const std::string& part : split(line, '/')) {
      if (pod.empty()) {
        pod = pod_in(part);
      } else if (container.empty()) {
        container = container_in(part);
      }
    }
    if (pod.empty()) continue;
    facts.pod = pod;
    facts.container = container;
    if (!container.empty()) return;
  }
}

std::uint64_t start_time(std::string_view stat) {
  // A process may have brackets and blanks in its name.
  const std::size_t end = stat.rfind(')');
  if (end == std::string_view::npos) return 0;
  const std::vector<std::string> fields = split(stat.substr(end + 1), ' ');
  if (fields.size() <= kStartField) return 0;
  return parse_number<std::uint64_t>(fields[kStartField]).value_or(0);
}

std::optional<std::uint32_t> socket_inode(std::string_view link) {
  constexpr std::string_view kBefore = "socket:[";
  if (!link.starts_with(kBefore) || !link.ends_with("]")) return std::nullopt;
  link.remove_prefix(kBefore.size());
  link.remove_suffix(1);
  return parse_number<std::uint32_t>(link);
}

}  // namespace tranche::core
