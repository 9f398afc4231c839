// SPDX-License-Identifier: Apache-2.0
//
// What is left of each device when what is held has been taken off. Pure.
//
// The rule: a whole device covers everything. A unit of memory covers its
// bytes. A replica covers the memory that it declares; where memory is not
// counted it covers none, and only keeps the device from being given as a
// whole. A share that is held under a name or an id that we do not offer covers
// the whole device, because nobody knows how much of it its holder uses; but a
// numbered one, where memory is not counted, is a replica like any other.
//
// What is held under a name is never taken off that name: the kubelet does that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/ledger.h"
#include "sharing/catalog.h"

namespace tranche {

// One device under one name.
struct DeviceRoom {
  std::vector<unsigned> held;  // numbers of the shares that are, sorted; 0 for a whole device
  // How many of the others may be given, by what all names hold. Health plays
  // no part here.
  unsigned free = 0;

  bool operator==(const DeviceRoom&) const = default;
};

// One name: as many as the offer has devices, in its order.
using OfferRoom = std::vector<DeviceRoom>;

// With nothing held, and nobody to know of it: all of it is free.
OfferRoom empty_room(const Offer& offer);

// What the kubelet is to be shown as free. For a resource that shows its
// largest block only, that is the free part of the healthy device with the
// most; all else stays as it is.
OfferRoom shown(const Offer& offer, OfferRoom room);

class Coverage {
 public:
  Coverage(const Catalog& catalog, const Ledger& ledger);

  OfferRoom room(const Offer& offer) const;
  // The same where the kubelet is known to take these shares of the offer for
  // free: whoever held them has ended, and we were not told yet.
  OfferRoom room(const Offer& offer, const std::vector<std::string_view>& free) const;

  // Whether these shares can be given besides all that is held, by any name
  // (what is held of these very shares aside). The error says who is in the
  // way. Where no other name has anything of a device, the kubelet's own
  // book-keeping is enough.
  Status admits(const Offer& offer, const std::vector<std::string_view>& shares) const;

  // Whether anything is held of the catalog's devices that it does not offer:
  // from before its configuration, or another plugin's.
  bool has_leftovers(const Catalog& catalog) const;

 private:
  // What one name holds of a device.
  struct Hold {
    std::vector<unsigned> shares;  // sorted
    std::uint64_t bytes = 0;
    bool whole = false;
    bool is_leftover = false;          // some of it is no share that this name has now
    std::vector<std::string> holders;  // for people
  };
  using Holds = std::map<std::string, Hold, std::less<>>;  // by resource

  DeviceRoom room_of(const Offer& offer, const OfferedDevice& device,
                     const std::set<unsigned>& free) const;

  std::map<std::string, Holds, std::less<>> devices_;  // by uuid
};

}  // namespace tranche
