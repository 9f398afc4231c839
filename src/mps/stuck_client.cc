// SPDX-License-Identifier: Apache-2.0
#include "mps/stuck_client.h"

namespace tranche {

std::string StuckClient::problem() {
  if (!client_) return "";
  if (client_.has_ended()) {
    client_ = Process();
    return "";
  }
  return "a client that tried the daemon (process " + std::to_string(client_.pid()) +
         ") hangs in the driver and cannot be killed; no other is started until it is gone, "
         "which may take a reset of the GPU or of the node";
}

}  // namespace tranche
