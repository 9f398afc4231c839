// SPDX-License-Identifier: Apache-2.0
//
// What is left of each device when what is held has been taken off. Pure.
//
// The rule: a whole device covers everything. A unit of memory and a replica cover
// the bytes that they were granted with, whatever is configured since; a replica
// whose memory is not counted covers none, and only keeps the device from being
// given as a whole. A share that is held under a name or an id that we do not offer
// covers the bytes that it was granted with; where nobody knows how many, it covers
// the whole device, but a numbered one, where memory is not counted, is a replica
// like any other.
//
// A GPU and its MIG devices are the same hardware: what is held of the GPU covers
// all of its MIG devices, and what is held of one of them covers the GPU.
//
// What is held under a name is never taken off that name, as long as its shares
// have the size that is offered now: the kubelet does that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ledger/ledger.h"
#include "ledger/records.h"
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

// What one share of each device is offered with.
OfferedSizes offered_sizes(const Catalog& catalog);

class Coverage {
 public:
  Coverage(const Catalog& catalog, const Ledger& ledger);

  OfferRoom room(const Offer& offer) const;
  // The same where the kubelet is known to take these shares of the offer for
  // free: whoever held them has ended, and we were not told yet.
  OfferRoom room(const Offer& offer, const std::vector<std::string_view>& free) const;

  // Whether these shares can be given besides all that is held, by any name
  // (what is held of these very shares aside). The error says who is in the
  // way.
  Status admits(const Offer& offer, const std::vector<std::string_view>& shares) const;

 private:
  // One numbered share that is held.
  struct HeldShare {
    std::uint64_t bytes = 0;
    // It was granted while memory was not counted, and now it is: nobody knows how
    // much its holder uses.
    bool is_unknown = false;
  };
  // What one name holds of a device.
  struct Hold {
    std::map<unsigned, HeldShare> shares;  // by number; 0 for a whole device
    bool whole = false;                    // all of the device
    // Of shares that this name does not have now.
    bool has_leftovers = false;
    bool leftovers_are_whole = false;
    std::uint64_t leftover_bytes = 0;
    std::vector<std::string> holders;  // for people
  };
  using Holds = std::map<std::string, Hold, std::less<>>;  // by resource

  // What a hold comes to when these shares of it are left aside.
  struct Rest {
    std::vector<unsigned> shares;
    std::uint64_t bytes = 0;
    bool is_whole = false;
    bool is_anything = false;
  };
  static Rest rest_of(const Hold& hold, const std::set<unsigned>& aside);

  // The device's uuid; an id of another plugin may name a device node.
  std::string_view uuid_of(std::string_view device) const;
  std::string_view known_prefix_of(std::string_view id, std::string_view otherwise) const;
  void add(const Offer* offer, const Holding& holding, const GrantedSizes& sizes,
           const std::set<std::string_view>& counted);
  DeviceRoom room_of(const Offer& offer, const OfferedDevice& device,
                     const std::set<unsigned>& free) const;
  Status admits(const Offer& offer, const OfferedDevice& device,
                const std::set<unsigned>& asked) const;
  // What is held of the same hardware under another uuid, if anything is.
  const std::pair<const std::string, Holds>* held_relative(const OfferedDevice& device) const;

  std::map<std::string, Holds, std::less<>> devices_;  // by uuid
  // Of the catalog.
  std::map<std::string, std::string> gpu_of_slice_;
  std::map<std::string, std::string, std::less<>> gpu_of_node_;
  std::set<std::string, std::less<>> known_;  // uuids of devices, offered or not
  bool are_slices_unknown_ = false;
  // A MIG device that is held, of a GPU that nobody can name now: it may be any.
  std::string unplaced_slice_;
};

}  // namespace tranche
