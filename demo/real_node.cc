// SPDX-License-Identifier: Apache-2.0
#include "demo/real_node.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/path.h"
#include "os/files.h"

namespace tranche::demo {
namespace {

constexpr const char* kSocket = "/var/lib/kubelet/device-plugins/kubelet.sock";

// Where distributions put the driver, and where its container mounts it.
constexpr std::array kDriverRoots = {"/", "/run/nvidia/driver"};
constexpr std::array kLibraryFolders = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
    "/lib/x86_64-linux-gnu",     "/lib/aarch64-linux-gnu",     "/lib64",
};

std::string driver_root_below(const std::string& root) {
  for (const char* driver_root : kDriverRoots) {
    for (const char* folder : kLibraryFolders) {
      const std::string path = below(below(driver_root, folder), "libnvidia-ml.so.1");
      if (path_exists(below(root, path))) return driver_root;
    }
  }
  return "";
}

RealNode::Kubelet kubelet_below(const std::string& root) {
  if (::access(below(root, kSocket).c_str(), F_OK) == 0) return RealNode::Kubelet::kPresent;
  return errno == EACCES ? RealNode::Kubelet::kHidden : RealNode::Kubelet::kAbsent;
}

std::string command_for(const RealNode& node, const std::string& agent) {
  if (node.driver_root == "/") return "sudo " + agent + " --driver-root-ctr-path=/";
  return "sudo " + agent + " --driver-root=" + node.driver_root +
         " --driver-root-ctr-path=" + node.driver_root;
}

}  // namespace

RealNode look_for_real_node(const std::string& root) {
  return {.driver_root = driver_root_below(root), .kubelet = kubelet_below(root)};
}

std::vector<Advice> how_to_serve(const RealNode& node, const std::string& agent) {
  using Kubelet = RealNode::Kubelet;
  const std::string socket = kSocket;
  if (node.driver_root.empty() && node.kubelet == Kubelet::kAbsent) {
    return {{"Real GPUs need a node with NVIDIA's driver (libnvidia-ml.so.1) and a kubelet (" +
                 socket + "). This machine has neither; on one that has both, run",
             "sudo tranche-device-plugin --driver-root-ctr-path=/"}};
  }
  if (node.driver_root.empty()) {
    return {
        {"This machine has a kubelet, but no NVIDIA driver (libnvidia-ml.so.1). When one is "
         "installed, serve its GPUs with",
         command_for({.driver_root = "/"}, agent)}};
  }
  const Advice look{
      "This machine has an NVIDIA driver. See its GPUs, and what they would be "
      "offered as; this changes nothing:",
      command_for(node, agent + " devices")};
  const std::string serve = command_for(node, agent);
  switch (node.kubelet) {
    case Kubelet::kPresent: return {look, {"It has a kubelet too. Serve them to it with", serve}};
    case Kubelet::kHidden:
      return {look, {"Whether it has a kubelet only root can see. If so, serve them with", serve}};
    case Kubelet::kAbsent: break;
  }
  return {look, {"It has no kubelet (" + socket + "). When it has joined a cluster, run", serve}};
}

}  // namespace tranche::demo
