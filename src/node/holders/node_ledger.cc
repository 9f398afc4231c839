// SPDX-License-Identifier: Apache-2.0
#include "node/holders/node_ledger.h"

#include <fmt/core.h>

#include <utility>

#include "base/path.h"
#include "node/holders/ledger_sources.h"

namespace tranche::node {
namespace {

LedgerSourceOptions source_options(const KubeletOptions& options) {
  return {.pod_resources_socket = options.pod_resources_socket, .checkpoint = options.checkpoint};
}

}  // namespace

NodeLedger::NodeLedger(const KubeletOptions& options, SizeMemory& sizes, Hooks hooks, Log& log)
    : options_(source_options(options)),
      book_({.changed =
                 [this, changed = std::move(hooks.changed)] {
                   keeper_.look_soon();
                   changed();
                 },
             .has_sources = [this] { return has_source_to_ask(options_); },
             .keep = [&sizes](const LedgerSizes& now) { return sizes.keep(now); }},
            sizes.recalled()),
      keeper_(options_,
              {.list = std::move(hooks.list),
               .publish = [this](const LedgerReading& reading) { book_.learn(reading); },
               .wants_confirmation = [this] { return !book_.to_confirm().empty(); },
               .nudge = std::move(hooks.nudge)},
              gate_, log) {
  keeper_.start();
}

void NodeLedger::wait_until_known(std::chrono::milliseconds patience) const {
  if (has_source_to_ask(options_)) book_.wait_until_known(patience);
}

std::string NodeLedger::problem() const {
  if (mounted_sources(options_).pod_resources) return {};
  const std::string& socket = options_.pod_resources_socket;
  const std::string why =
      socket.empty()
          ? "--pod-resources-socket is empty; name it"
          : fmt::format("there is no folder {}; mount it (the chart does)", parent_of(socket));
  return fmt::format(
      "a GPU that is offered under several names, or by its largest free block, needs the "
      "kubelet's pod-resources service, which lists the devices of each pod, and {}, or offer each "
      "GPU under one name with 'offer: sum'",
      why);
}

std::string NodeLedger::unknown_reason() const {
  const SourceStatus service = keeper_.status().pod_resources;
  if (ledger() && service.answers) return {};
  if (options_.pod_resources_socket.empty()) return "--pod-resources-socket is empty";
  if (!mounted_sources(options_).pod_resources) {
    return fmt::format("there is no folder {}; mount it", parent_of(options_.pod_resources_socket));
  }
  return fmt::format("the kubelet's pod-resources service {}{}",
                     service.has_answered ? "no longer answers" : "has not answered yet",
                     service.error.empty() ? "" : ": " + service.error);
}

}  // namespace tranche::node
