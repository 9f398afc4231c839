// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/toolkit.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tranche::core {
namespace {

// From the toolkit's CHANGELOG.md. Every version that knows CDI has the hooks of the first row.
struct HookRow {
  std::string_view name;
  ToolkitVersion since;
};
constexpr std::array kHookRows = {
    HookRow{"create-symlinks", {}},
    HookRow{"update-ldcache", {}},
    HookRow{"chmod", {}},
    HookRow{"enable-cuda-compat", {1, 17, 5}},
    HookRow{"disable-device-node-modification", {1, 18, 0}},
    HookRow{"update-application-profile", {1, 20, 0}},
    HookRow{"apply-cuda-memory-limits", {1, 20, 1}},
};
constexpr ToolkitVersion kFirstKnown = {1, 17, 5};

// In the build information that the Go linker writes: the variable that is set, and the
// module.
constexpr std::array kBeforeVersion = {
    std::string_view("info.version="),
    std::string_view("github.com/NVIDIA/nvidia-container-toolkit\tv"),
};
constexpr std::size_t kTail = 160;  // longer than any of these with a version

// Whether a version fits: every hook that it should have is found, and no newer one.
bool agrees(const ToolkitVersion& version, const std::vector<std::string>& found) {
  return std::ranges::all_of(kHookRows, [&](const HookRow& row) {
    if (row.since == ToolkitVersion{}) return true;
    const bool is_found = std::ranges::find(found, row.name) != found.end();
    return is_found == (row.since <= version);
  });
}

// The version behind the words, if it is complete.
std::string version_behind(std::string_view words, std::string_view bytes) {
  for (std::size_t at = bytes.find(words); at != std::string_view::npos;
       at = bytes.find(words, at + 1)) {
    const std::string_view rest = bytes.substr(at + words.size());
    const std::size_t end = rest.find_first_not_of("v0123456789.");
    if (end == std::string_view::npos) continue;
    if (parse_toolkit_version(rest.substr(0, end))) return std::string(rest.substr(0, end));
  }
  return {};
}

}  // namespace

std::string to_string(const Toolkit& toolkit) {
  if (!toolkit.version) return "not known: " + toolkit.problem;
  if (toolkit.is_exact) return to_string(*toolkit.version);
  if (*toolkit.version < kFirstKnown) return "older than " + to_string(kFirstKnown);
  return to_string(*toolkit.version) + " or newer";
}

std::optional<ToolkitVersion> hook_since(std::string_view hook) {
  const auto* const row = std::ranges::find(kHookRows, hook, &HookRow::name);
  if (row == kHookRows.end() || row->since == ToolkitVersion{}) return std::nullopt;
  return row->since;
}

bool has_hook(const Toolkit& toolkit, std::string_view hook) {
  const auto* const row = std::ranges::find(kHookRows, hook, &HookRow::name);
  return row != kHookRows.end() && row->since <= toolkit.version.value_or(ToolkitVersion{});
}

void ToolkitEvidence::add(std::string_view bytes) {
  tail_ += bytes;
  for (const HookRow& row : kHookRows) {
    if (std::ranges::find(found_, row.name) != found_.end()) continue;
    if (tail_.find(row.name) != std::string::npos) found_.emplace_back(row.name);
  }
  for (const std::string_view words : kBeforeVersion) {
    if (version_.empty()) version_ = version_behind(words, tail_);
  }
  if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
}

Toolkit ToolkitEvidence::conclusion(const std::string& program) const {
  const auto is_found = [&](std::string_view name) {
    return std::ranges::find(found_, name) != found_.end();
  };
  if (!is_found("create-symlinks") || !is_found("update-ldcache")) {
    return {.problem = program + " is not NVIDIA's container toolkit"};
  }
  if (const auto version = parse_toolkit_version(version_); version && agrees(*version, found_)) {
    return {.version = version, .is_exact = true};
  }
  ToolkitVersion at_least;
  for (const HookRow& row : kHookRows) {
    // A program that lacks an older hook has no newer ones.
    if (!is_found(row.name) && row.since != ToolkitVersion{}) break;
    at_least = std::max(at_least, row.since);
  }
  return {.version = at_least};
}

}  // namespace tranche::core
