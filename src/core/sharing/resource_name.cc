// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/resource_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace tranche::core {
namespace {

constexpr std::size_t kMostCharacters = 63;
constexpr std::string_view kDefaultDomain = "nvidia.com";

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_label(std::string_view label) {
  return !label.empty() && is_alphanumeric(label.front()) && is_alphanumeric(label.back()) &&
         std::ranges::all_of(label, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  return std::ranges::all_of(split(text, '.'), is_label);
}

Error refused(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

}  // namespace

Result<ResourceName> parse_resource_name(std::string_view text) {
  const bool has_domain = text.find('/') != std::string_view::npos;
  const std::string name =
      has_domain ? std::string(text) : fmt::format("{}/{}", kDefaultDomain, text);
  if (name.size() > kMostCharacters) {
    return refused("fully-qualified resource name must be 63 characters or less: " + name);
  }
  const std::size_t slash = name.find('/');
  const std::string domain = name.substr(0, slash);
  if (!is_dns_subdomain(domain) || !is_dns_subdomain(name.substr(slash + 1))) {
    return refused(fmt::format(
        "incorrect format for resource name '{}': before and behind the one slash are lower case "
        "letters, digits, '-' and '.', beginning and ending with a letter or digit",
        name));
  }
  // The kubelet accepts only extended resources.
  if (name.find("kubernetes.io/") != std::string::npos || name.starts_with("requests.")) {
    return refused(
        fmt::format("resource name '{}' is reserved: kubernetes.io domains and a leading "
                    "'requests.' belong to Kubernetes itself",
                    name));
  }
  return ResourceName(name);
}

}  // namespace tranche::core
