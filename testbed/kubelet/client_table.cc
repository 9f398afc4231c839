// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/client_table.h"

#include <algorithm>

namespace tranche::testbed::standin {

void ClientTable::add(const std::string& resource, const Entry& entry) {
  std::vector<Entry>& entries = entries_[resource];
  if (version_ == KubeletVersion::k136) entries.clear();
  entries.push_back(entry);
}

void ClientTable::drop(const std::string& resource, const std::string& socket) {
  const auto found = entries_.find(resource);
  if (found == entries_.end()) return;
  std::erase_if(found->second, [&](const Entry& entry) {
    return version_ == KubeletVersion::k136 || entry.socket == socket;
  });
}

std::optional<ClientTable::Entry> ClientTable::find(const std::string& resource,
                                                    const std::string& socket) const {
  const auto found = entries_.find(resource);
  if (found == entries_.end()) return std::nullopt;
  const auto entry = std::ranges::find_if(found->second, [&](const Entry& candidate) {
    return version_ == KubeletVersion::k136 || candidate.socket == socket;
  });
  if (entry == found->second.end()) return std::nullopt;
  return *entry;
}

std::optional<ClientTable::Entry> ClientTable::newest(const std::string& resource) const {
  const auto found = entries_.find(resource);
  if (found == entries_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

}  // namespace tranche::testbed::standin
