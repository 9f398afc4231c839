// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/cluster_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/text.h"
#include "core/sharing/resource_name.h"
#include "os/settings/values.h"

namespace tranche::programs {
namespace {

constexpr std::size_t kMostTypeName = 63;
constexpr std::size_t kMostType = 316;  // with a domain before it
// Quantities are signed, and extended resources are whole numbers.
constexpr std::uint64_t kMostCount = std::numeric_limits<std::int64_t>::max();

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_name(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

Result<ExtendedResource> parse_extended_resource(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos ||
      text.substr(0, equals).find('/') == std::string_view::npos) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is not DOMAIN/NAME=COUNT, such as aliyun.com/gpu-count=gpus",
                             brief(std::string(text)))};
  }
  const Result<ResourceName> name = parse_resource_name(text.substr(0, equals));
  if (!name) return name.error();
  const std::string_view count = text.substr(equals + 1);
  if (count == "gpus") return ExtendedResource{name->text, CountedGpus::kAll};
  if (count == "healthy-gpus") return ExtendedResource{name->text, CountedGpus::kHealthy};
  const auto number = parse_number<std::uint64_t>(count);
  if (number && *number <= kMostCount) return ExtendedResource{name->text, *number};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}={}: the count is a whole number, gpus or healthy-gpus", name->text,
                           brief(std::string(count)))};
}

bool is_condition_type(std::string_view text) {
  if (text.empty()) return true;
  const std::size_t slash = text.find('/');
  const bool has_domain = slash != std::string_view::npos;
  const std::string_view name = has_domain ? text.substr(slash + 1) : text;
  return text.size() <= kMostType && name.size() <= kMostTypeName && is_name(name) &&
         (!has_domain || is_name(text.substr(0, slash)));
}

}  // namespace tranche::programs
