// SPDX-License-Identifier: Apache-2.0
//
// The free part of each device after subtracting all allocations. Pure.
//
// The rule: a whole device covers everything. A unit of memory and a replica cover the
// bytes with which they were allocated, whatever is configured since. A replica whose
// memory is not counted covers none, and only keeps the device from being allocated as a
// whole. A share that is held under a name or an id that we do not offer covers the bytes
// with which it was allocated. If they are not known, it covers the whole device.
// Exception: where memory is not counted, a numbered share is a replica like any other.
//
// A GPU and its MIG devices are the same hardware: a share of the GPU covers all of its MIG
// devices, and a share of a MIG device covers the GPU.
//
// What is held under a name is not subtracted from that name, as long as its shares have
// the size that is offered now, because the kubelet does that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/ledger/device_names.h"
#include "core/ledger/ledger.h"
#include "core/ledger/records.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// One device under one name.
struct DeviceRoom {
  std::vector<unsigned> held;  // numbers of the shares that are, sorted; 0 for a whole device
  // How many of the others may be allocated, considering all names. Health is not
  // considered here.
  unsigned free = 0;

  bool operator==(const DeviceRoom&) const = default;
};

// One name: as many as the offer has devices, in its order.
using OfferRoom = std::vector<DeviceRoom>;

// Without a ledger: everything is free.
OfferRoom empty_room(const Offer& offer);

// What is reported to the kubelet as free. For a resource that shows its largest block
// only, that is the free part of the healthy device with the most; all else stays as it is.
OfferRoom shown(const Offer& offer, OfferRoom room);

// The size of one share of each device, as offered.
OfferedSizes offered_sizes(const Catalog& catalog);

class Coverage {
 public:
  Coverage(const Catalog& catalog, const Ledger& ledger);

  OfferRoom room(const Offer& offer) const;
  // The same where the kubelet considers these shares of the offer free: their holder has
  // ended, and the ledger does not show it yet.
  OfferRoom room(const Offer& offer, const std::vector<std::string_view>& free) const;

  // Whether these shares can be allocated beside everything that is held under any name
  // (not counting these shares themselves). The error names the holder in the way.
  Status admits(const Offer& offer, const std::vector<std::string_view>& shares) const;

  // Why free shares of a device are not offered, for people: the holders under other names.
  // Empty: all of them are offered.
  std::string withheld_reason(const Offer& offer, const OfferedDevice& device) const;

 private:
  // One numbered share that is held.
  struct HeldShare {
    std::uint64_t bytes = 0;
    // It was allocated while memory was not counted, and now it is: how much its holder
    // uses is not known.
    bool is_unknown = false;
  };
  // What one name holds of a device.
  struct Hold {
    std::map<unsigned, HeldShare> shares;  // by number; 0 for a whole device
    bool whole = false;                    // all of the device
    // Includes shares that this name does not have now.
    bool has_leftovers = false;
    bool leftovers_are_whole = false;
    std::uint64_t leftover_bytes = 0;
    std::vector<std::string> holders;  // for people
  };
  using Holds = std::map<std::string, Hold, std::less<>>;  // by resource

  // The coverage of a hold without these shares.
  struct Rest {
    std::vector<unsigned> shares;
    std::uint64_t bytes = 0;
    bool is_whole = false;
    bool is_anything = false;
  };
  static Rest rest_of(const Hold& hold, const std::set<unsigned>& aside);

  void add(const Offer* offer, const Holding& holding, const GrantedSizes& sizes,
           const std::set<std::string_view>& counted);
  DeviceRoom room_of(const Offer& offer, const OfferedDevice& device,
                     const std::set<unsigned>& free) const;
  Status admits(const Offer& offer, const OfferedDevice& device,
                const std::set<unsigned>& asked) const;
  // Describes what a hold of the device withholds from the offer; empty: nothing.
  static std::string part_held(const Offer& offer, const OfferedDevice& device,
                               const std::string& resource, const Hold& hold);
  // A hold on the same hardware under another uuid, or null.
  const std::pair<const std::string, Holds>* held_relative(const OfferedDevice& device) const;

  std::map<std::string, Holds, std::less<>> devices_;  // by uuid
  // From the catalog.
  DeviceNames names_;
  std::map<std::string, std::string> gpu_of_slice_;
  bool are_slices_unknown_ = false;
  // A MIG device that is held, of a GPU that is not known now: it may be any GPU.
  std::string unplaced_slice_;
};

}  // namespace tranche::core
