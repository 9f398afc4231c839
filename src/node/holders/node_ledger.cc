// SPDX-License-Identifier: Apache-2.0
#include "apps/ledger_desk.h"

#include <utility>

#include "base/files.h"

namespace tranche {
namespace {

LedgerSourceOptions source_options(const KubeletOptions& options) {
  return {.pod_resources_socket = options.pod_resources_socket, .checkpoint = options.checkpoint};
}

}  // namespace

LedgerDesk::LedgerDesk(const KubeletOptions& options, SizeMemory& sizes,
                       std::function<void()> changed, std::function<void()> nudge, Log& log)
    : options_(source_options(options)),
      book_({.changed =
                 [this, changed = std::move(changed)] {
                   keeper_.look_soon();
                   changed();
                 },
             .has_sources = [this] { return has_source_to_ask(options_); },
             .keep = [&sizes](const LedgerSizes& now) { return sizes.keep(now); }},
            sizes.recalled()),
      pods_(options_.pod_resources_socket),
      keeper_(options_,
              {.publish = [this](const LedgerReading& reading) { book_.learn(reading); },
               .wants_confirmation = [this] { return !book_.to_confirm().empty(); },
               .nudge = std::move(nudge)},
              gate_, log) {
  keeper_.start();
}

void LedgerDesk::wait_until_known(std::chrono::milliseconds patience) const {
  if (has_source_to_ask(options_)) book_.wait_until_known(patience);
}

std::string LedgerDesk::problem() const {
  if (mounted_sources(options_).pod_resources) return {};
  const std::string why = options_.pod_resources_socket.empty()
                              ? "--pod-resources-socket is empty; name it"
                              : "there is no folder " + parent_of(options_.pod_resources_socket) +
                                    "; mount it (the chart does)";
  return "a GPU that is offered under several names, or by its largest free block, needs the "
         "kubelet's pod-resources service to know who holds what, and " +
         why + ", or offer each GPU under one name with 'offer: sum'";
}

}  // namespace tranche
