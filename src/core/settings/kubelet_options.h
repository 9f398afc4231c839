// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tranche {

struct KubeletOptions {
  // The kubelet's registration socket. Our own sockets live beside it. Empty:
  // serve, but do not register.
  std::string socket = "/var/lib/kubelet/device-plugins/kubelet.sock";

  // Where the kubelet says which pod has which share. Empty: it is not asked.
  std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // Its own record of what it gave out. Empty: it is not read.
  std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

  bool operator==(const KubeletOptions&) const = default;
};

}  // namespace tranche
