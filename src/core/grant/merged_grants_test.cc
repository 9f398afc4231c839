// SPDX-License-Identifier: Apache-2.0
//
// Two of our resources in one container. The kubelet allocates each separately and merges the
// answers: of variables, mounts, nodes and annotations with the same name it keeps any one.
#include <gmock/gmock.h>

#include <set>

#include "core/grant/testing/shares.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Merged {
  ContainerGrant grant;
  std::set<std::string> conflicts;  // names that both had, with different values
};

void merge_map(std::map<std::string, std::string>& into,
               const std::map<std::string, std::string>& from, std::set<std::string>& conflicts) {
  for (const auto& [name, value] : from) {
    const auto [kept, is_new] = into.emplace(name, value);
    if (!is_new && kept->second != value) conflicts.insert(name);
  }
}

template <typename Item>
void merge_list(std::vector<Item>& into, const std::vector<Item>& from,
                std::set<std::string>& conflicts) {
  for (const Item& item : from) {
    const auto same = std::ranges::find(into, item.container_path, &Item::container_path);
    if (same == into.end()) {
      into.push_back(item);
    } else if (*same != item) {
      conflicts.insert(item.container_path);
    }
  }
}

Merged merge(const ContainerGrant& first, const ContainerGrant& second) {
  Merged merged{.grant = first};
  merge_map(merged.grant.env, second.env, merged.conflicts);
  merge_map(merged.grant.annotations, second.annotations, merged.conflicts);
  merge_list(merged.grant.mounts, second.mounts, merged.conflicts);
  merge_list(merged.grant.nodes, second.nodes, merged.conflicts);
  for (const std::string& name : second.cdi_devices) {
    if (std::ranges::find(merged.grant.cdi_devices, name) == merged.grant.cdi_devices.end()) {
      merged.grant.cdi_devices.push_back(name);
    }
  }
  return merged;
}

Offer whole_gpu() {
  OfferedDevice gpu = a_shared_gpu(0, 1);
  gpu.replicas.reset();
  return an_offer("nvidia.com/gpu", {gpu}, {});
}

Offer units() {
  return an_offer("example.com/gpu-memory", {a_shared_gpu(1, 80, kGiB)},
                  {.form = ShareForm::kMemory, .unit_bytes = kGiB});
}

Offer slices() {
  return an_offer("example.com/slice", {a_shared_gpu(2, 4, 20 * kGiB)},
                  {.form = ShareForm::kReplicas, .dialect = Dialect::kDeepomatic});
}

const NodeFacts kFacts{.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"},
                       .cdi = {{"gpu", {"GPU-0", "GPU-1", "GPU-2"}}}};

const GrantOptions kByCdi{
    .list = {.cdi_annotations = true, .cdi_cri = true},
    .driver_mount = DriverMount{"/home/kubernetes/bin/nvidia", "/usr/local/nvidia"}};

TEST(TwoResourcesInOneContainer, ThroughCdiAContainerHasBothDevices) {
  const Merged merged = merge(must_grant(whole_gpu(), {"GPU-0"}, kFacts, kByCdi),
                              must_grant(units(), shares_of(1, 8), kFacts, kByCdi));
  EXPECT_THAT(merged.conflicts, IsEmpty());
  EXPECT_THAT(merged.grant.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                                    "k8s.device-plugin.nvidia.com/gpu=GPU-1"));
  EXPECT_THAT(merged.grant.annotations, testing::SizeIs(2));
}

TEST(TwoResourcesInOneContainer, WhatIsToldOfEachIsThereUnderTheResourcesName) {
  const ContainerGrant memory = must_grant(units(), shares_of(1, 8), kFacts, kByCdi);
  const ContainerGrant slice = must_grant(slices(), {"GPU-2::0"}, kFacts, kByCdi);
  for (const Merged& merged : {merge(memory, slice), merge(slice, memory)}) {
    // The plain name has one of them; it is for containers with one resource.
    EXPECT_THAT(merged.conflicts, ElementsAre("TRANCHE_MEMORY_LIMIT_MIB"));
    EXPECT_EQ(merged.grant.env.at("TRANCHE_MEMORY_ENFORCEMENT_EXAMPLE_COM_GPU_MEMORY"), "none");
    EXPECT_EQ(merged.grant.env.at("TRANCHE_MEMORY_LIMIT_MIB_EXAMPLE_COM_GPU_MEMORY"), "8192");
    EXPECT_EQ(merged.grant.env.at("TRANCHE_MEMORY_ENFORCEMENT_EXAMPLE_COM_SLICE"), "none");
    EXPECT_EQ(merged.grant.env.at("TRANCHE_MEMORY_LIMIT_MIB_EXAMPLE_COM_SLICE"), "20480");
    EXPECT_THAT(merged.grant.cdi_devices, testing::SizeIs(2));
    EXPECT_THAT(merged.grant.mounts, testing::SizeIs(1));
  }
}

TEST(TwoResourcesInOneContainer, OneOfThemMayBeGpushares) {
  const ContainerGrant memory = must_grant(units(), shares_of(1, 8), kFacts, kByCdi);
  const ContainerGrant gpushare = must_grant(gib_units(), shares_of(0, 3), kFacts, kByCdi);
  const Merged merged = merge(memory, gpushare);
  EXPECT_THAT(merged.conflicts, ElementsAre("TRANCHE_MEMORY_LIMIT_MIB"));
  EXPECT_EQ(merged.grant.env.at("ALIYUN_COM_GPU_MEM_CONTAINER"), "3");
}

TEST(TwoResourcesInOneContainer, AnMpsShareKeepsItsPipeAndLimitBesideAnother) {
  Offer memory = units();
  memory.terms.enforcement = Enforcement::kMps;
  NodeFacts node = kFacts;
  node.mps["GPU-1"] = a_daemon(1);
  const Merged merged = merge(must_grant(whole_gpu(), {"GPU-0"}, node, kByCdi),
                              must_grant(memory, shares_of(1, 8), node, kByCdi));
  EXPECT_THAT(merged.conflicts, IsEmpty());
  EXPECT_EQ(merged.grant.env.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=8192M");
}

TEST(TwoResourcesInOneContainer, ByDeviceNodesBothAreThereToo) {
  const ContainerGrant one = must_grant(slices(), {"GPU-2::0"}, kFacts);
  Offer other = slices();
  other.name = ResourceName("example.com/other");
  other.devices = {a_shared_gpu(0, 4, 20 * kGiB)};
  const Merged merged = merge(one, must_grant(other, {"GPU-0::0"}, kFacts));
  EXPECT_THAT(merged.conflicts, IsEmpty());
  EXPECT_THAT(merged.grant.nodes, testing::SizeIs(4));
}

TEST(TwoResourcesInOneContainer, ByVariableOneOfTheDevicesIsLost) {
  const Merged merged = merge(must_grant(whole_gpu(), {"GPU-0"}, kFacts),
                              must_grant(units(), shares_of(1, 8), kFacts));
  EXPECT_THAT(merged.conflicts, ElementsAre("NVIDIA_VISIBLE_DEVICES"));
}

}  // namespace
}  // namespace tranche::core
