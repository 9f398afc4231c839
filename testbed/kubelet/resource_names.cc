// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/resource_names.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/text.h"

namespace tranche::testbed::standin {
namespace {

constexpr std::string_view kQuotaPrefix = "requests.";
constexpr std::size_t kLongestDomain = 253;
constexpr std::size_t kLongestName = 63;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_letter_or_digit(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

bool is_dns_label(std::string_view label) {
  return !label.empty() && is_lower_or_digit(label.front()) && is_lower_or_digit(label.back()) &&
         std::ranges::all_of(label, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view domain) {
  return domain.size() <= kLongestDomain &&
         std::ranges::all_of(split(domain, '.'),
                             [](const std::string& label) { return is_dns_label(label); });
}

bool is_name_part(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && is_letter_or_digit(name.front()) &&
         is_letter_or_digit(name.back()) && std::ranges::all_of(name, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

bool is_extended_resource_name(std::string_view name) {
  // The kubelet looks for its own domain anywhere in the name, not at the end
  // of the domain.
  if (name.find("kubernetes.io/") != std::string_view::npos) return false;
  if (name.starts_with(kQuotaPrefix)) return false;
  const auto parts = split(std::string(kQuotaPrefix) + std::string(name), '/');
  return parts.size() == 2 && is_dns_subdomain(parts[0]) && is_name_part(parts[1]);
}

}  // namespace tranche::testbed::standin
