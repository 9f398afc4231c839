// SPDX-License-Identifier: Apache-2.0
//
// api-client: see usage() in flags.cc.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "os/child_process.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/signals.h"
#include "testbed/api_client/modes.h"

namespace tranche::testbed::api_client {
namespace {

constexpr std::size_t kMostKubeconfig = 1U << 20U;

Result<Access> access_of(const Flags& flags) {
  if (flags.kubeconfig.empty()) return in_cluster_access(own_environment(), kServiceAccountFolder);
  const Result<std::string> content = read_file(flags.kubeconfig, kMostKubeconfig);
  if (!content) return content.error();
  Result<Access> access = parse_kubeconfig(flags.kubeconfig, *content);
  if (access && !flags.token_file.empty()) {
    access->certificate = access->key = {};
    access->exec.reset();
    access->token = {.file = flags.token_file};
  }
  return access;
}

// Until a signal.
Status keep(const Flags& flags, ApiClient& client, const UniqueFd& signals) {
  Loop loop;
  const std::jthread worker([&](const std::stop_token& stop) {
    if (flags.lease.empty()) {
      print_changes(client, flags, stop);
    } else {
      keep_lease(client, flags, stop);
    }
  });
  loop.on_signal(signals, [&](int) { loop.stop(); });
  loop.run();
  return Done{};
}

Status run(const Flags& flags) {
  Result<Access> access = access_of(flags);
  if (!access) return access.error();
  ApiClient client(*std::move(access), {.user_agent = "tranche-api-client"});
  if (!flags.watch.empty() || !flags.lease.empty()) {
    const Result<UniqueFd> signals = take_signals({SIGTERM, SIGINT});
    return signals ? keep(flags, client, *signals) : signals.error();
  }
  if (flags.events) {
    make_events(client);
  } else {
    make_calls(client);
  }
  return Done{};
}

}  // namespace

void print(const Json& line) {
  std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
}

bool next_line(Json& line) {
  std::string text;
  if (!std::getline(std::cin, text)) return false;
  line = Json::parse(text);
  return true;
}

}  // namespace tranche::testbed::api_client

int main(int argc, char** argv) {
  using namespace tranche::testbed::api_client;
  const auto flags = parse_flags(std::vector<std::string>(argv + 1, argv + argc));
  if (!flags) {
    std::cerr << "error: " << flags.error().message << "\n";
    return 2;
  }
  if (flags->help) {
    std::cout << usage();
    return 0;
  }
  if (const auto ran = run(*flags); !ran) {
    std::cerr << "error: " << ran.error().message << "\n";
    return 1;
  }
  return 0;
}
