// SPDX-License-Identifier: Apache-2.0
#include "apps/nested_desk.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "kubelet/checkpoint.h"
#include "nested/guest_health.h"

namespace tranche {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often it is looked whether files of an ended pod may go.
constexpr milliseconds kTidyPause{1'000};

}  // namespace

NestedDesk::NestedDesk(const Settings& settings, std::function<void()> issued, Log& log)
    : log_(log),
      checkpoint_(settings.kubelet.checkpoint),
      handed_off_(settings.nested.directory, log, std::move(issued)) {
  if (settings.nested.guest) reader_.emplace(settings.nested, steady_clock::now());
  handed_off_.recall(steady_clock::now());
}

bool NestedDesk::look() { return reader_ && reader_->look(steady_clock::now()); }

GuestInventory NestedDesk::granted(const Inventory& inventory) const {
  if (!reader_) return {.inventory = inventory};
  const HostGrant* grant = reader_->grant();
  if (grant == nullptr) return unknown_part(inventory, reader_->problem());
  GuestInventory guest = granted_part(inventory, *grant);
  if (!reader_->problem().empty()) {
    guest.notes.push_back("the host's grant cannot be read; the last one stands: " +
                          reader_->problem());
  }
  return guest;
}

void NestedDesk::keep_up(const Catalog& catalog, const Inventory& inventory) {
  if (handed_off_.empty()) return;
  handed_off_.refresh([&](const std::string& resource, const NestedDevice& device) {
    return guest_health(catalog, inventory, resource, device);
  });
  tidy();
}

std::string NestedDesk::identity_of_checkpoint() const {
  struct stat status{};
  if (::stat(checkpoint_.c_str(), &status) != 0) return {};
  return std::to_string(status.st_ino) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

void NestedDesk::tidy() {
  is_waiting_ = false;
  if (handed_off_.empty() || checkpoint_.empty()) return;
  const std::string identity = identity_of_checkpoint();
  if (!mounted_ || identity != checkpoint_read_) {
    auto mounts = read_checkpoint_mounts(checkpoint_, handed_off_.directory());
    // Where it is not known who is there, nobody's files are removed.
    const std::string problem = mounts ? std::string() : mounts.error().message;
    if (said_.changed("checkpoint", problem) && !problem.empty()) {
      log_.warning("files of node pods are kept, whether or not the pods are there",
                   {{"reason", problem}});
    }
    mounted_ = mounts ? std::optional(*std::move(mounts)) : std::nullopt;
    checkpoint_read_ = identity;
  }
  if (mounted_) is_waiting_ = handed_off_.tidy(*mounted_, steady_clock::now());
}

std::optional<milliseconds> NestedDesk::due() const {
  std::optional<milliseconds> due = reader_ ? reader_->due(steady_clock::now()) : std::nullopt;
  if (is_waiting_) due = std::min(due.value_or(kTidyPause), kTidyPause);
  return due;
}

}  // namespace tranche
