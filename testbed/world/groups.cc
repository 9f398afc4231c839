// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/groups.h"

#include <algorithm>
#include <cstddef>

namespace tranche::testbed::sim {
namespace {

using Group = std::vector<std::size_t>;

bool all_known(YamlReader& reader, const YAML::Node& node, const World& world, const Group& group) {
  const bool known =
      std::ranges::all_of(group, [&](std::size_t gpu) { return gpu < world.gpus.size(); });
  if (!known) reader.problems().add(node, "a group names a GPU that the world does not have");
  return known;
}

// `switches: [[0, 1], [2, 3]]` gives each group a name of its own.
void read_shared(YamlReader& reader, World& world, std::string_view key,
                 std::string Place::* member) {
  const auto node = reader.take(key);
  if (!node) return;
  std::vector<Group> groups;
  reader.read(*node, reader.name_of(key), groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!all_known(reader, *node, world, groups[i])) return;
    for (const std::size_t gpu : groups[i]) {
      world.gpus[gpu].place.*member = std::string(key) + "-" + std::to_string(i);
    }
  }
}

void read_nodes(YamlReader& reader, World& world) {
  const auto list = reader.take("nodes");
  if (!list || !reader.is_sequence(*list, "pcie.nodes")) return;
  for (const auto& node : *list) {
    YamlReader item(node, "pcie.nodes", reader.problems());
    Group group;
    int numa = -1;
    std::string cpus;
    item.always("gpus", group);
    item.always("numa", numa);
    item.always("cpus", cpus);
    item.finish();
    if (!all_known(reader, node, world, group)) return;
    for (const std::size_t gpu : group) {
      world.gpus[gpu].numa_node = numa;
      world.gpus[gpu].cpus = cpus;
    }
  }
}

// Rows and columns as `nvidia-smi topo -m` prints them; the diagonal is X.
void read_matrix(YamlReader& reader, World& world) {
  const auto node = reader.take("matrix");
  if (!node) return;
  std::vector<std::vector<std::string>> rows;
  reader.read(*node, "pcie.matrix", rows);
  const std::size_t count = world.gpus.size();
  if (rows.size() != count) return reader.problems().add(*node, "pcie.matrix needs a row a GPU");
  for (std::size_t a = 0; a < count; ++a) {
    if (rows[a].size() != count) {
      return reader.problems().add((*node)[a], "pcie.matrix needs a column a GPU");
    }
    for (std::size_t b = a + 1; b < count; ++b) {
      PairLevel pair{world.gpus[a].pci, world.gpus[b].pci};
      reader.read((*node)[a][b], "pcie.matrix", pair.level);
      world.pair_levels.push_back(pair);
    }
  }
}

void read_pcie(YamlReader& top, World& world) {
  const auto node = top.take("pcie");
  if (!node) return;
  YamlReader reader(*node, "pcie", top.problems());
  read_shared(reader, world, "boards", &Place::board);
  read_shared(reader, world, "switches", &Place::pcie_switch);
  read_shared(reader, world, "upstream", &Place::upstream);
  read_shared(reader, world, "bridges", &Place::bridge);
  read_nodes(reader, world);
  read_matrix(reader, world);
  reader.finish();
}

// Link i of every GPU goes to switch i modulo their number: equally many links
// to each, as far as that divides.
void connect_switches(World& world, std::size_t count, const std::vector<PciAddress>& pci) {
  for (Gpu& gpu : world.gpus) {
    for (std::size_t link = 0; link < gpu.model.nvlinks; ++link) {
      NvLink made{.peer = NvLink::Peer::kSwitch};
      if (!pci.empty()) made.pci = pci[link % std::min(count, pci.size())];
      gpu.links.push_back(made);
    }
  }
  world.extras.nvswitches = pci;
}

void connect_pair(World& world, std::size_t a, std::size_t b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    world.gpus[a].links.push_back({NvLink::Peer::kGpu, world.gpus[b].pci});
    world.gpus[b].links.push_back({NvLink::Peer::kGpu, world.gpus[a].pci});
  }
}

void read_pairs(YamlReader& reader, World& world) {
  const auto node = reader.take("pairs");
  if (!node) return;
  std::vector<Group> pairs;
  reader.read(*node, "nvlink.pairs", pairs);
  for (const Group& pair : pairs) {
    if (pair.size() != 3 || pair[0] == pair[1] || pair[2] > 36) {
      return reader.problems().add(*node, "nvlink.pairs: each is [gpu, gpu, links]");
    }
    if (!all_known(reader, *node, world, {pair[0], pair[1]})) return;
    connect_pair(world, pair[0], pair[1], pair[2]);
  }
}

void read_link_matrix(YamlReader& reader, World& world) {
  const auto node = reader.take("matrix");
  if (!node) return;
  std::vector<Group> rows;
  reader.read(*node, "nvlink.matrix", rows);
  const std::size_t count = world.gpus.size();
  const bool square = rows.size() == count && std::ranges::all_of(rows, [&](const Group& row) {
                        return row.size() == count;
                      });
  if (!square) return reader.problems().add(*node, "nvlink.matrix needs a row and a column a GPU");
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      const std::size_t links = rows[a][b];
      if (links != rows[b][a]) reader.problems().add(*node, "nvlink.matrix differs both ways");
      connect_pair(world, a, b, std::min<std::size_t>(links, 36));
    }
  }
}

void read_nvlink(YamlReader& top, World& world) {
  const auto node = top.take("nvlink");
  if (!node) return;
  YamlReader reader(*node, "nvlink", top.problems());
  std::size_t switches = 0;
  std::vector<PciAddress> pci;
  reader.always("switches", switches);
  reader.always("switch_pci", pci);
  if (switches > 0) connect_switches(world, switches, pci);
  read_pairs(reader, world);
  read_link_matrix(reader, world);
  reader.finish();
}

}  // namespace

void read_groups(YamlReader& top, World& world) {
  read_pcie(top, world);
  read_nvlink(top, world);
}

}  // namespace tranche::testbed::sim
