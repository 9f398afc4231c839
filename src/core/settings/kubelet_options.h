// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tranche::core {

struct KubeletOptions {
  // The kubelet's registration socket. Our own sockets live beside it. Empty:
  // serve, but do not register.
  std::string socket = "/var/lib/kubelet/device-plugins/kubelet.sock";

  // The kubelet's pod-resources socket. Empty: not used.
  std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // The kubelet's checkpoint file. Empty: not read.
  std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

  bool operator==(const KubeletOptions&) const = default;
};

}  // namespace tranche::core
