// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/api_link.h"

#include <chrono>
#include <utility>

#include "kube/api_client.h"
#include "os/worker.h"
#include "programs/device_plugin/version.h"

namespace tranche::programs {
namespace {

// Between two looks for a kubeconfig or a service account.
constexpr std::chrono::seconds kLookAgain{10};

}  // namespace

ApiLink::ApiLink(ApiAccessSources sources, std::string node, Log& log)
    : sources_(std::move(sources)),
      log_(log),
      own_node_(
          std::move(node), [this] { news_.ring(), reporter_.wake(); }, log),
      reporter_(own_node_.state(), own_node_.name(), log),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void ApiLink::run(const std::stop_token& stop) {
  const ApiClientOptions options{.user_agent = std::string("tranche-device-plugin/") + kVersion +
                                               " (" + own_node_.name() + ")"};
  OnChange logged;
  while (!stop.stop_requested()) {
    const Result<Access> access = find_api_access(sources_);
    if (access) {
      // Writes have a connection of their own: a watch keeps its connection busy.
      const std::jthread writing([&](const std::stop_token& end) {
        ApiClient client(*access, options);
        reporter_.run(client, end);
      });
      ApiClient client(*access, options);
      return own_node_.run(client, stop);
    }
    if (logged.changed("access", access.error().message)) {
      log_.warning("no way to the API server; what needs it waits, GPUs are served without it",
                   {{"reason", access.error().message}});
    }
    sleep_unless_stopped(stop, kLookAgain);
  }
}

}  // namespace tranche::programs
