// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/mps/process_table.h"

// A process controls its name and parts of its cgroup: for any input, a pod's UID has 32 digits and
// a container's id 64.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tranche::node::ProcessFacts facts;
  tranche::node::take_status(text, facts);
  tranche::node::take_cgroup(text, facts);
  if (!facts.pod.empty() && facts.pod.size() < 32) std::abort();
  if (!facts.container.empty() && facts.container.size() != 64) std::abort();
  tranche::node::start_time(text);
  tranche::node::waiting_descriptor(text);
  tranche::node::socket_inode(text);
  return 0;
}
