// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tranche {

struct KubeletOptions {
  // The kubelet's registration socket. Our own sockets live beside it. Empty:
  // serve, but do not register.
  std::string socket = "/var/lib/kubelet/device-plugins/kubelet.sock";

  bool operator==(const KubeletOptions&) const = default;
};

}  // namespace tranche
