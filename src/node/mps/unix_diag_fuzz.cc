// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/mps/unix_diag.h"

// Reads nothing outside of the answer, wherever it is truncated.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto sockets = tranche::node::parse_unix_diag(bytes);
  if (sockets.size() > size / 16) std::abort();
  for (const auto& socket : sockets) {
    if (socket.name.size() > size) std::abort();
  }
  return 0;
}
