// SPDX-License-Identifier: Apache-2.0
//
// How the kubelet names a share: "GPU-8f1c…" for a whole device,
// "GPU-8f1c…::3" for its replica 3. These ids outlive us in the kubelet's
// checkpoint and are NVIDIA's: the format never changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tranche {

struct ParsedShareId {
  std::string_view device;          // uuid of a GPU or a MIG device; points into the text
  std::optional<unsigned> replica;  // empty: the device itself

  bool operator==(const ParsedShareId&) const = default;
};

std::string share_id(std::string_view device, std::optional<unsigned> replica);

// Reads what share_id() writes and nothing else: "X::03" is no id of ours.
std::optional<ParsedShareId> parse_share_id(std::string_view text);

}  // namespace tranche
