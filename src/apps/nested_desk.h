// SPDX-License-Identifier: Apache-2.0
//
// Nested clusters for the agent, both halves: as a guest, what the host has
// granted; as a host, the files of its node pods.
//
// The main thread's, but for handed_off(), which is anybody's.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "config/settings.h"
#include "nested/handed_off.h"
#include "nested/host_grant_reader.h"
#include "sharing/catalog.h"

namespace tranche {

class NestedDesk {
 public:
  // `issued`, from any thread: there is something new to keep up.
  NestedDesk(const Settings& settings, std::function<void()> issued, Log& log);

  // As a guest. Readable when look() is worth it; -1: never.
  int fd() const { return reader_ ? reader_->fd() : -1; }
  // True: something else is granted than before.
  bool look();
  // What may be offered of the driver's GPUs; all, where we are no guest.
  GuestInventory granted(const Inventory& inventory) const;
  const HostGrantReader* reader() const { return reader_ ? &*reader_ : nullptr; }

  // As a host: brings the files of node pods up to date, and removes those of
  // pods that have ended.
  void keep_up(const Catalog& catalog, const Inventory& inventory);
  void tidy();
  HandedOff& handed_off() { return handed_off_; }

  // By then look() or tidy() is due.
  std::optional<std::chrono::milliseconds> due() const;

 private:
  std::string identity_of_checkpoint() const;

  Log& log_;
  const std::string checkpoint_;
  std::optional<HostGrantReader> reader_;
  HandedOff handed_off_;
  std::string checkpoint_read_;
  std::optional<std::set<std::string>> mounted_;  // as the checkpoint last had it
  bool is_waiting_ = false;
  OnChange said_;
};

}  // namespace tranche
