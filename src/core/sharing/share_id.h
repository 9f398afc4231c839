// SPDX-License-Identifier: Apache-2.0
//
// Device ids of shares, as the kubelet knows them:
//   "GPU-8f1c…"            a whole device
//   "GPU-8f1c…::3"         its replica 3
//   "GPU-8f1c…::kq3x"      a whole device under a second name
//   "GPU-8f1c…::kq3x-3"    share 3 of one of our own resources
// The first two are NVIDIA's. The tag belongs to the resource: kubelets up to 1.36 look up a
// device's health by its id alone, so no two resources may share an id. The part before the "::"
// is always the device: monitoring joins on it. These ids outlive the agent in the kubelet's
// checkpoint: their format never changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/sharing/resource_name.h"

namespace tranche::core {

struct ParsedShareId {
  std::string_view device;          // uuid of a GPU or a MIG device; points into the text
  std::string_view tag;             // likewise; empty: an id of NVIDIA's
  std::optional<unsigned> replica;  // empty: the device itself

  bool operator==(const ParsedShareId&) const = default;
};

std::string share_id(std::string_view device, std::string_view tag,
                     std::optional<unsigned> replica);

// Parses only what share_id() writes: "X::03" is not our id.
std::optional<ParsedShareId> parse_share_id(std::string_view text);

// The same, and the ids of other sharing plugins too: "GPU-8f1c…-_-3" (GPUShare's and
// those made from it). Such an id has no tag.
std::optional<ParsedShareId> parse_any_share_id(std::string_view text);

// The tag of a resource, always the same for the same name: four characters, the first a
// letter. Two names can have the same tag, but it is unlikely.
std::string share_tag(const ResourceName& resource);

}  // namespace tranche::core
