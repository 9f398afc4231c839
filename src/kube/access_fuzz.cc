// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "kube/access.h"
#include "kube/credentials.h"

// A kubeconfig, an address and what a credential plugin prints are other people's: whatever is in
// them is read or refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)tranche::kube::access_to(text);
  (void)tranche::kube::parse_kubeconfig("/etc/kubeconfig", text);
  (void)tranche::kube::parse_exec_credential(text);
  return 0;
}
