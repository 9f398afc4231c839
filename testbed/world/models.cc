// SPDX-License-Identifier: Apache-2.0
//
// The table of known models. Numbers are those of real cards where a capture is
// public, else of the vendor's tables; the few that neither gives (reserved
// memory of some, profiles of the newest) are set to plausible ones.
#include <map>

#include "testbed/world/model.h"

namespace tranche::testbed::sim {
namespace {

using Models = std::map<std::string, Model, std::less<>>;

Model volta_or_turing(Model model) {
  model.pcie_generation = 3;
  model.vbios = "88.00.80.00.01";
  return model;
}

// What the chips of a family have in common; the rest is the row's.
Model ampere(Model model) {
  model.architecture = 7;
  model.compute_major = 8;
  model.pcie_generation = 4;
  model.remaps_rows = true;
  model.vbios = "92.00.45.00.03";
  return model;
}

Model ada(Model model) {
  model.architecture = 8;
  model.compute_major = 8;
  model.compute_minor = 9;
  model.pcie_generation = 4;
  model.vbios = "95.02.66.00.15";
  return model;
}

Model hopper(Model model) {
  model.architecture = 9;
  model.compute_major = 9;
  model.pcie_generation = 5;
  model.remaps_rows = true;
  model.nvlink_version = 6;
  model.nvlink_mbps = 26562;
  model.vbios = "96.00.99.00.01";
  return model;
}

Model blackwell(Model model) {
  model.architecture = 10;
  model.compute_major = 10;
  model.remaps_rows = true;
  model.fabric = true;
  model.nvlinks = 18;
  model.nvlink_version = 7;
  model.nvlink_mbps = 53125;
  model.vbios = "97.00.FA.00.09";
  return model;
}

// Multiprocessors of the seven profiles.
std::vector<unsigned> hopper_sms() { return {16, 16, 26, 32, 60, 64, 132}; }
std::vector<unsigned> blackwell_sms() { return {18, 18, 18, 36, 54, 72, 126}; }

MigTable mig_40gb() {
  return a100_mig({"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"},
                  {4864, 4864, 9856, 9856, 19968, 19968, 40192});
}

std::vector<std::string> names_of_80gb() {
  return {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
}

MigTable mig_a100_80gb() {
  return a100_mig(names_of_80gb(), {9728, 9728, 19968, 19968, 40192, 40192, 80896});
}

MigTable mig_h100(const std::vector<unsigned>& multiprocessors) {
  return hopper_mig(names_of_80gb(), {9984, 9984, 20096, 20096, 40448, 40448, 81152},
                    multiprocessors);
}

MigTable mig_h200() {
  return hopper_mig(
      {"1g.18gb", "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"},
      {16384, 16384, 33280, 33280, 71424, 71424, 143360}, hopper_sms());
}

void add_before_ampere(Models& models) {
  models["t4"] = volta_or_turing({.name = "Tesla T4",
                                  .architecture = 6,
                                  .compute_major = 7,
                                  .compute_minor = 5,
                                  .device_id = 0x1eb8,
                                  .subsystem_id = 0x12a2,
                                  .memory_mib = 15360,
                                  .reserved_mib = 448,
                                  .bar1_mib = 256,
                                  .multiprocessors = 40,
                                  .cores = 2560,
                                  .power_limit_w = 70,
                                  .board_part = "900-2G183-A800-001"});
  Model v100{.name = "Tesla V100-SXM2-32GB",
             .architecture = 5,
             .compute_major = 7,
             .device_id = 0x1db5,
             .subsystem_id = 0x1249,
             .memory_mib = 32768,
             .reserved_mib = 258,
             .bar1_mib = 32768,
             .multiprocessors = 80,
             .cores = 5120,
             .power_limit_w = 300,
             .board_part = "692-2G503-0203-000",
             .nvlinks = 6,
             .nvlink_version = 2,
             .nvlink_mbps = 25781};
  models["v100-sxm2-32gb"] = volta_or_turing(v100);
  v100.name = "Tesla V100-SXM3-32GB";
  v100.device_id = 0x1db8;
  v100.subsystem_id = 0x131d;
  v100.power_limit_w = 350;
  models["v100-sxm3-32gb"] = volta_or_turing(v100);
}

void add_ampere_without_mig(Models& models) {
  Model a10{.name = "NVIDIA A10",
            .compute_minor = 6,
            .device_id = 0x2236,
            .subsystem_id = 0x1482,
            .memory_mib = 23028,
            .reserved_mib = 525,
            .bar1_mib = 32768,
            .multiprocessors = 72,
            .cores = 9216,
            .power_limit_w = 150,
            .board_part = "900-2G133-0020-000"};
  models["a10"] = ampere(a10);
  a10.name = "NVIDIA A10G";
  a10.device_id = 0x2237;
  a10.subsystem_id = 0x152f;
  a10.multiprocessors = 80;
  a10.cores = 10240;
  a10.power_limit_w = 300;
  models["a10g"] = ampere(a10);
  models["a40"] = ampere({.name = "NVIDIA A40",
                          .compute_minor = 6,
                          .device_id = 0x2235,
                          .subsystem_id = 0x145a,
                          .pci_class = 0x030000,
                          .memory_mib = 46068,
                          .reserved_mib = 592,
                          .bar1_mib = 65536,
                          .multiprocessors = 84,
                          .cores = 10752,
                          .power_limit_w = 300,
                          .board_part = "900-2G133-0000-000",
                          .nvlinks = 4,
                          .nvlink_version = 4,
                          .nvlink_mbps = 14062});
}

void add_ampere_with_mig(Models& models) {
  Model a100{.name = "NVIDIA A100-SXM4-40GB",
             .device_id = 0x20b0,
             .subsystem_id = 0x134f,
             .memory_mib = 40960,
             .reserved_mib = 518,
             .bar1_mib = 65536,
             .multiprocessors = 108,
             .cores = 6912,
             .power_limit_w = 400,
             .board_part = "692-2G506-0200-003",
             .nvlinks = 12,
             .nvlink_version = 4,
             .nvlink_mbps = 25781,
             .mig = mig_40gb()};
  models["a100-sxm4-40gb"] = ampere(a100);
  a100.name = "NVIDIA A100-PCIE-40GB";
  a100.device_id = 0x20f1;
  a100.subsystem_id = 0x145f;
  a100.power_limit_w = 250;
  models["a100-pcie-40gb"] = ampere(a100);
  a100.name = "NVIDIA A100-SXM4-80GB";
  a100.device_id = 0x20b2;
  a100.subsystem_id = 0x1463;
  a100.memory_mib = 81920;
  a100.reserved_mib = 634;
  a100.bar1_mib = 131072;
  a100.power_limit_w = 400;
  a100.mig = mig_a100_80gb();
  models["a100-sxm4-80gb"] = ampere(a100);
  a100.name = "NVIDIA A100 80GB PCIe";
  a100.device_id = 0x20b5;
  a100.subsystem_id = 0x1533;
  a100.power_limit_w = 300;
  models["a100-pcie-80gb"] = ampere(a100);
  models["a30"] = ampere({.name = "NVIDIA A30",
                          .device_id = 0x20b7,
                          .subsystem_id = 0x1532,
                          .memory_mib = 24576,
                          .reserved_mib = 512,
                          .bar1_mib = 32768,
                          .multiprocessors = 56,
                          .cores = 3584,
                          .power_limit_w = 165,
                          .board_part = "900-21001-0040-000",
                          .nvlinks = 4,
                          .nvlink_version = 4,
                          .nvlink_mbps = 25781,
                          .mig = a30_mig()});
}

void add_ada(Models& models) {
  models["l4"] = ada({.name = "NVIDIA L4",
                      .device_id = 0x27b8,
                      .subsystem_id = 0x16ca,
                      .memory_mib = 23034,
                      .reserved_mib = 533,
                      .bar1_mib = 32768,
                      .multiprocessors = 58,
                      .cores = 7424,
                      .power_limit_w = 72,
                      .board_part = "900-2G193-0000-000",
                      .remaps_rows = true});
  models["l40s"] = ada({.name = "NVIDIA L40S",
                        .device_id = 0x26b9,
                        .subsystem_id = 0x1851,
                        .memory_mib = 46068,
                        .reserved_mib = 609,
                        .bar1_mib = 65536,
                        .multiprocessors = 142,
                        .cores = 18176,
                        .power_limit_w = 350,
                        .board_part = "900-2G133-A880-000",
                        .remaps_rows = true});
  models["rtx-4090"] = ada({.name = "NVIDIA GeForce RTX 4090",
                            .brand = 15,
                            .device_id = 0x2684,
                            .subsystem_id = 0x165b,
                            .pci_class = 0x030000,
                            .memory_mib = 24564,
                            .reserved_mib = 346,
                            .bar1_mib = 32768,
                            .multiprocessors = 128,
                            .cores = 16384,
                            .power_limit_w = 450,
                            .has_serial = false,
                            .ecc = false});
}

void add_hopper(Models& models) {
  Model h100{.name = "NVIDIA H100 80GB HBM3",
             .device_id = 0x2330,
             .subsystem_id = 0x16c1,
             .memory_mib = 81559,
             .reserved_mib = 480,
             .bar1_mib = 131072,
             .multiprocessors = 132,
             .cores = 16896,
             .power_limit_w = 700,
             .board_part = "692-2G520-0200-000",
             .fabric = true,
             .nvlinks = 18,
             .mig = mig_h100(hopper_sms())};
  models["h100-sxm"] = hopper(h100);
  h100.name = "NVIDIA H100 PCIe";
  h100.device_id = 0x2331;
  h100.subsystem_id = 0x1626;
  h100.multiprocessors = 114;
  h100.cores = 14592;
  h100.power_limit_w = 350;
  h100.board_part = "900-21010-0000-000";
  h100.fabric = false;
  h100.nvlinks = 12;
  h100.mig = mig_h100({14, 14, 14, 30, 46, 62, 114});
  models["h100-pcie"] = hopper(h100);
  h100.name = "NVIDIA H100 NVL";
  h100.device_id = 0x2321;
  h100.subsystem_id = 0x1839;
  h100.memory_mib = 95830;
  h100.multiprocessors = 132;
  h100.cores = 16896;
  h100.power_limit_w = 400;
  h100.mig =
      hopper_mig({"1g.12gb", "1g.12gb+me", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"},
                 {11264, 11264, 23552, 23552, 47488, 47488, 95360}, hopper_sms());
  models["h100-nvl"] = hopper(h100);
}

void add_hopper_e(Models& models) {
  Model h200{.name = "NVIDIA H200",
             .device_id = 0x2335,
             .subsystem_id = 0x18bf,
             .memory_mib = 143771,
             .reserved_mib = 615,
             .bar1_mib = 262144,
             .multiprocessors = 132,
             .cores = 16896,
             .power_limit_w = 700,
             .board_part = "692-2G520-0282-000",
             .fabric = true,
             .nvlinks = 18,
             .mig = mig_h200()};
  models["h200-sxm"] = hopper(h200);
  h200.name = "NVIDIA H200 NVL";
  h200.device_id = 0x233b;
  h200.subsystem_id = 0x1996;
  h200.power_limit_w = 600;
  h200.fabric = false;
  models["h200-nvl"] = hopper(h200);
  models["gh200"] =
      hopper({.name = "NVIDIA GH200 480GB",
              .device_id = 0x2342,
              .subsystem_id = 0x16eb,
              .memory_mib = 97871,
              .reserved_mib = 550,
              .bar1_mib = 131072,
              .multiprocessors = 132,
              .cores = 16896,
              .power_limit_w = 900,
              .board_part = "900-2G530-0000-000",
              .coherent = true,
              .nvlinks = 18,
              .mig = hopper_mig(
                  {"1g.12gb", "1g.12gb+me", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"},
                  {11264, 11264, 23552, 23552, 47616, 47616, 95232}, hopper_sms())});
}

void add_blackwell(Models& models) {
  models["b200"] = blackwell(
      {.name = "NVIDIA B200",
       .device_id = 0x2901,
       .subsystem_id = 0x1999,
       .memory_mib = 183359,
       .reserved_mib = 728,
       .bar1_mib = 262144,
       .multiprocessors = 148,
       .cores = 18944,
       .power_limit_w = 1000,
       .pcie_generation = 5,
       .board_part = "692-2G525-0220-500",
       .mig = hopper_mig(
           {"1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"},
           {22528, 22528, 45568, 45568, 91392, 91392, 182784}, blackwell_sms())});
  models["gb200"] = blackwell(
      {.name = "NVIDIA GB200",
       .device_id = 0x2941,
       .subsystem_id = 0x2046,
       .memory_mib = 189471,
       .reserved_mib = 742,
       .bar1_mib = 262144,
       .multiprocessors = 152,
       .cores = 19456,
       .power_limit_w = 1200,
       .pcie_generation = 5,
       .board_part = "900-2G548-A801-000",
       .coherent = true,
       .mig = hopper_mig(
           {"1g.23gb", "1g.23gb+me", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"},
           {23296, 23296, 47104, 47104, 94464, 94464, 188928}, blackwell_sms())});
  Model gb300 = blackwell(
      {.name = "NVIDIA GB300",
       .device_id = 0x31c2,
       .subsystem_id = 0x21f1,
       .memory_mib = 284208,
       .reserved_mib = 947,
       .bar1_mib = 524288,
       .multiprocessors = 152,
       .cores = 19456,
       .power_limit_w = 1400,
       .pcie_generation = 6,
       .board_part = "900-2G548-0081-000",
       .coherent = true,
       .mig = hopper_mig(
           {"1g.35gb", "1g.35gb+me", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb", "7g.278gb"},
           {35072, 35072, 70656, 70656, 141824, 141824, 283648}, blackwell_sms())});
  gb300.compute_minor = 3;
  models["gb300"] = gb300;
}

void add_rtx_pro(Models& models) {
  models["rtx-pro-6000"] = {.name = "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                            .brand = 13,
                            .architecture = 10,
                            .compute_major = 12,
                            .device_id = 0x2bb5,
                            .subsystem_id = 0x204e,
                            .memory_mib = 97887,
                            .reserved_mib = 637,
                            .bar1_mib = 131072,
                            .multiprocessors = 188,
                            .cores = 24064,
                            .power_limit_w = 600,
                            .pcie_generation = 5,
                            .board_part = "900-2G153-0000-000",
                            .vbios = "98.02.55.00.01",
                            .remaps_rows = true,
                            .mig = rtx_pro_6000_mig()};
}

const Models& models() {
  static const Models all = [] {
    Models made;
    add_before_ampere(made);
    add_ampere_without_mig(made);
    add_ampere_with_mig(made);
    add_ada(made);
    add_hopper(made);
    add_hopper_e(made);
    add_blackwell(made);
    add_rtx_pro(made);
    return made;
  }();
  return all;
}

}  // namespace

std::optional<Model> find_model(std::string_view key) {
  const auto found = models().find(key);
  if (found == models().end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> model_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, model] : models()) keys.push_back(key);
  return keys;
}

}  // namespace tranche::testbed::sim
