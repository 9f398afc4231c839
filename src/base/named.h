// SPDX-License-Identifier: Apache-2.0
//
// Named<Tag>: text that identifies one kind of thing. A GPU's uuid and a
// share's id are both text; with this the compiler knows which is which.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace tranche::base {

template <typename Tag>
struct Named {
  std::string text;

  Named() = default;
  explicit Named(std::string value) : text(std::move(value)) {}

  bool empty() const { return text.empty(); }
  auto operator<=>(const Named&) const = default;
};

}  // namespace tranche::base

template <typename Tag>
struct std::hash<tranche::base::Named<Tag>> {
  std::size_t operator()(const tranche::base::Named<Tag>& name) const noexcept {
    return std::hash<std::string>{}(name.text);
  }
};
