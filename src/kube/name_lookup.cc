// SPDX-License-Identifier: Apache-2.0
#include "kube/name_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

namespace tranche::kube {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

NameLookup::Addresses ask_resolver(const std::string& name) {
  const addrinfo hints{.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
  addrinfo* list = nullptr;
  const int problem = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
  if (problem != 0) return Error{ErrorCode::kUnavailable, ::gai_strerror(problem)};
  std::vector<std::string> addresses;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text.data());
    }
  }
  return addresses;
}

}  // namespace

NameLookup::NameLookup() : resolve_(ask_resolver) {}

NameLookup::Addresses NameLookup::find(const std::string& host,
                                       std::chrono::steady_clock::time_point deadline,
                                       const std::stop_token& stop) {
  if (is_address(host)) return std::vector{host};
  const std::string doing = "looking up " + host;
  const auto late = [&] {
    return Error{ErrorCode::kUnavailable, doing + ": the name servers have not answered yet"};
  };
  if (last_.is_stuck()) return late();  // one at a time, so that they do not pile up
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  auto outcome =
      caller_.call<Addresses>([resolve = resolve_, host] { return resolve(host); }, patience, stop);
  last_ = outcome.stuck;
  if (!outcome.value) return late();
  if (!*outcome.value) return outcome.value->error().in(doing);
  return *std::move(outcome.value);
}

}  // namespace tranche::kube
