// SPDX-License-Identifier: Apache-2.0
//
// The ledger by device, for people and programs: which containers are on which GPU, and
// which free shares they keep from being offered. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// What one container has of one device through one resource.
struct DeviceHolding {
  std::string device;               // uuid of the GPU or MIG device
  std::string gpu;                  // uuid of the GPU; empty: the node has no such device now
  std::vector<std::string> shares;  // ids, sorted
  std::uint64_t bytes = 0;          // of memory; 0: not counted

  bool operator==(const DeviceHolding&) const = default;
};

// A holding of the ledger with its devices, sorted by uuid.
struct PlacedHolding {
  Holding holding;
  std::vector<DeviceHolding> devices;

  bool operator==(const PlacedHolding&) const = default;
};

// Every holding of GPUs. Devices of other kinds (for example network cards of another
// plugin) are left out.
std::vector<PlacedHolding> placed_holdings(const Catalog& catalog, const Ledger& ledger);

// Free shares of a healthy device that are not offered, because of what is held.
struct WithheldShares {
  std::string resource;
  std::string device;  // uuid
  std::string index;   // "2" or "2:1"
  std::string gpu;     // uuid
  unsigned shares = 0;
  std::string reason;

  bool operator==(const WithheldShares&) const = default;
};
std::vector<WithheldShares> withheld_shares(const Catalog& catalog, const Ledger& ledger);

// "3 shares of aliyun.com/gpu-mem on GPU 2 are not offered: the whole GPU is held …"
std::string to_string(const WithheldShares& withheld);

}  // namespace tranche::core
