// SPDX-License-Identifier: Apache-2.0
#include "os/settings/resolved.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tranche::os {
namespace {

template <typename T>
const T& get_or_abort(const Value& value) {
  const T* held = std::get_if<T>(&value);
  if (held == nullptr) std::abort();
  return *held;
}

}  // namespace

const Setting& Resolved::at(std::string_view title) const {
  const auto found = std::ranges::find_if(
      settings_, [&](const Setting& setting) { return setting.flag->title() == title; });
  if (found == settings_.end()) std::abort();
  return *found;
}

bool Resolved::truth(std::string_view title) const { return get_or_abort<bool>(at(title).value); }

const std::string& Resolved::text(std::string_view title) const {
  return get_or_abort<std::string>(at(title).value);
}

const std::vector<std::string>& Resolved::list(std::string_view title) const {
  return get_or_abort<std::vector<std::string>>(at(title).value);
}

std::chrono::milliseconds Resolved::duration(std::string_view title) const {
  return get_or_abort<std::chrono::milliseconds>(at(title).value);
}

void Resolved::replace(std::string_view title, Value value, const std::string& reason) {
  const auto found = std::ranges::find_if(
      settings_, [&](const Setting& setting) { return setting.flag->title() == title; });
  if (found == settings_.end()) std::abort();
  found->value = std::move(value);
  found->origin.text += " (" + reason + ")";
}

std::string where(const Setting& setting) {
  switch (setting.origin.kind) {
    case OriginKind::kFlag:
    case OriginKind::kEnvironment: return setting.origin.text;
    case OriginKind::kFile: return setting.origin.text + ": " + std::string(setting.flag->key);
    case OriginKind::kDefault: break;
  }
  return std::string(setting.flag->title());
}

}  // namespace tranche::os
