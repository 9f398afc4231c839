// SPDX-License-Identifier: Apache-2.0
//
// Which connection stands for a resource, as the kubelet's registration server
// keeps it. Here lies the difference between the versions, and a race that a
// plugin must survive:
//
// Up to 1.36 there is one entry a resource. A new registration overwrites it.
// When the stream of the *old* connection ends, the kubelet looks the resource
// up, finds the new connection and closes that: the resource is lost although
// its plugin is well. And a registration that fails takes the entry with it,
// so that the end of the old stream goes unnoticed.
//
// From 1.37 on an entry also has the socket's path. A refused registration of
// a path that is connected drops both, with the same unnoticed end.
//
// Pure; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

class ClientTable {
 public:
  struct Entry {
    ClientId client = 0;
    std::string socket;

    bool operator==(const Entry&) const = default;
  };

  explicit ClientTable(KubeletVersion version) : version_(version) {}

  void add(const std::string& resource, const Entry& entry);
  void drop(const std::string& resource, const std::string& socket);

  // Whom the end of the stream on `socket` is taken for.
  std::optional<Entry> find(const std::string& resource, const std::string& socket) const;

  // The newest connection of the resource.
  std::optional<Entry> newest(const std::string& resource) const;

 private:
  const KubeletVersion version_;
  std::map<std::string, std::vector<Entry>> entries_;
};

}  // namespace tranche::testbed::standin
