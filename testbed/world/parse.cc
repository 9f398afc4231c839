// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/parse.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>

#include "os/files.h"
#include "testbed/world/defaults.h"
#include "testbed/world/groups.h"
#include "testbed/world/mig_layout.h"
#include "testbed/world/yaml_reader.h"

namespace tranche::testbed::sim {
namespace {

constexpr std::size_t kMostGpus = 16;

void read_driver(YamlReader& top, Driver& driver) {
  const auto node = top.take("driver");
  if (!node) return;
  YamlReader reader(*node, "driver", top.problems());
  reader.always("version", driver.version);
  driver.module_version = driver.version;
  std::string cuda = "13.0";
  reader.always("cuda", cuda);
  const std::vector<std::string> parts = split(cuda, '.');
  const auto major = parse_number<unsigned>(parts.front());
  const auto minor = parse_number<unsigned>(parts.back());
  if (parts.size() != 2 || !major || !minor) {
    top.problems().add(*node, "driver.cuda: '" + cuda + "' is no version like 13.0");
  }
  driver.cuda_major = major.value_or(0);
  driver.cuda_minor = minor.value_or(0);
  describe(reader, driver, driver);
  reader.finish();
  if (branch_of(driver) == 0) {
    top.problems().add(*node, "driver.version: '" + driver.version + "' is no driver version");
  }
}

// The `mig` key of a GPU. Its GPU is complete by now: UUIDs are made from it.
class MigReader {
 public:
  MigReader(const YAML::Node& node, const std::string& where, Problems& problems)
      : reader_(node, where, problems) {}

  void read(const Driver& driver, Gpu& gpu) {
    reader_.always("enabled", gpu.mig.enabled);
    const auto layout = reader_.take("layout");
    // A layout without a word on the mode means that it is on.
    if (layout && !given("enabled")) gpu.mig.enabled = true;
    gpu.mig.pending = gpu.mig.enabled;
    reader_.always("pending", gpu.mig.pending);
    reader_.finish();
    if (gpu.mig.enabled && gpu.model.mig.empty()) {
      return reader_.problems().add(reader_.node(), gpu.model.name + " has no MIG");
    }
    if (!layout) return;
    std::vector<WantedInstance> wanted;
    if (!reader_.is_sequence(*layout, reader_.name_of("layout"))) return;
    for (const auto& each : *layout) wanted.push_back(instance(each));
    Result<std::vector<GpuInstance>> laid = lay_out(gpu, driver, wanted);
    if (!laid) return reader_.problems().add(*layout, laid.error().message);
    gpu.mig.instances = std::move(*laid);
    if (!gpu.mig.enabled && !gpu.mig.instances.empty()) {
      reader_.problems().add(*layout, "a layout needs MIG to be enabled");
    }
  }

 private:
  bool given(const char* key) const { return static_cast<bool>(reader_.node()[key]); }

  WantedInstance instance(const YAML::Node& node) {
    const std::string where = reader_.name_of("layout");
    if (node.IsScalar()) {
      Result<WantedInstance> wanted = parse_wanted(node.Scalar());
      if (wanted) return *wanted;
      reader_.problems().add(node, where + ": " + wanted.error().message);
      return {};
    }
    YamlReader reader(node, where, reader_.problems());
    WantedInstance wanted;
    reader.always("gi", wanted.profile);
    reader.always("id", wanted.id);
    reader.always("start", wanted.start);
    if (const auto compute = reader.take("ci"); compute && reader.is_sequence(*compute, "ci")) {
      wanted.compute.emplace();
      for (const auto& each : *compute) wanted.compute->push_back(compute_instance(each));
    }
    reader.finish();
    return wanted;
  }

  WantedCompute compute_instance(const YAML::Node& node) {
    WantedCompute wanted;
    if (node.IsScalar()) {
      // "1c" or "1c.3g.40gb"; a whole GPU instance's name has no c before its g.
      const std::string& text = node.Scalar();
      const std::size_t end = text.find('c');
      if (text.find('g') < end) return wanted;
      const auto slices = parse_number<unsigned>(text.substr(0, end));
      if (!slices || *slices == 0) {
        reader_.problems().add(node, "'" + text + "' is no compute instance; write 1c, 2c, ...");
      }
      wanted.slices = slices.value_or(0);
      return wanted;
    }
    YamlReader reader(node, "ci", reader_.problems());
    reader.always("slices", wanted.slices);
    reader.always("id", wanted.id);
    reader.always("start", wanted.start);
    reader.always("uuid", wanted.uuid);
    reader.always("index", wanted.index);
    reader.finish();
    return wanted;
  }

  YamlReader reader_;
};

Model read_model(YamlReader& reader, std::string& key) {
  reader.always("model", key);
  if (key.empty()) return {};
  std::optional<Model> model = find_model(key);
  if (model) return *model;
  const auto meant = nearest(key, model_keys());
  reader.problems().add(reader.node(), "'" + key + "' is no known model" +
                                           (meant ? "; did you mean '" + *meant + "'?"
                                                  : " (tranche-sim models lists them)"));
  return {};
}

// What would make us divide by zero or count below it.
void check_sizes(const YAML::Node& node, const std::string& where, const Model& model,
                 Problems& problems) {
  if (model.reserved_mib > model.memory_mib || model.memory_mib > (1ULL << 40)) {
    problems.add(node, where + ": more memory is reserved than there is");
  }
  for (const GpuInstanceProfile& profile : model.mig.profiles) {
    if (profile.slices == 0 || profile.size == 0 || profile.size > model.mig.units) {
      problems.add(node, where + ": MIG profile '" + profile.name + "' has no size that fits");
    }
  }
}

// One item of `gpus`, which may stand for several.
void read_gpu(const YAML::Node& node, YamlReader& top, World& world) {
  unsigned count = 1;
  for (unsigned i = 0; i < count && world.gpus.size() < kMostGpus + 1; ++i) {
    const std::size_t position = world.gpus.size();
    const std::string where = "gpus[" + std::to_string(position) + "]";
    YamlReader reader(node, where, top.problems());
    reader.always("count", count);
    std::string key;
    const Model model = read_model(reader, key);
    Gpu gpu = default_gpu(key, model, position);
    describe(reader, gpu, gpu);
    check_sizes(node, where, gpu.model, top.problems());
    if (const auto mig = reader.take("mig"); mig && !top.problems().first()) {
      MigReader(*mig, where + ".mig", top.problems()).read(world.driver, gpu);
    }
    reader.finish();
    if (gpu.model.name.empty()) top.problems().add(node, where + " needs a model or a name");
    if (count > 1 && node["uuid"]) {
      top.problems().add(node, where + ": count and uuid exclude each other");
    }
    world.gpus.push_back(std::move(gpu));
  }
}

// A GPU named by its place in the file, or by its uuid.
void resolve_gpu(const YAML::Node& node, YamlReader& reader, const World& world, GpuUuid& gpu) {
  if (const auto position = parse_number<std::size_t>(gpu.text)) {
    if (*position < world.gpus.size()) {
      gpu = world.gpus[*position].uuid;
      return;
    }
    reader.problems().add(node, "there is no gpu " + gpu.text);
  }
}

template <typename T>
void read_numbered(YamlReader& top, std::string_view key, World& world, std::vector<T>& items) {
  const auto list = top.take(key);
  if (!list || !top.is_sequence(*list, std::string(key))) return;
  for (const auto& node : *list) {
    T item{.number = world.next_number};
    YamlReader reader(node, std::string(key), top.problems());
    describe(reader, item, item);
    reader.finish();
    if constexpr (std::same_as<T, Event>) resolve_gpu(node, reader, world, item.gpu);
    if constexpr (std::same_as<T, CallFault>) {
      if (item.gpu) resolve_gpu(node, reader, world, *item.gpu);
      if (!item.call.starts_with("nvml")) top.problems().add(node, "a fault needs a call: nvml…");
      if (!item.blocks && item.code == 0) top.problems().add(node, "a fault needs block or code");
      if (item.field && (item.blocks || item.call != kFieldCall)) {
        top.problems().add(node, "a field fails in nvmlDeviceGetFieldValues, and by code");
      }
    }
    world.next_number = std::max(world.next_number, item.number + 1);
    items.push_back(std::move(item));
  }
}

void check_gpus(const YAML::Node& node, const World& world, Problems& problems) {
  if (world.gpus.size() > kMostGpus) problems.add(node, "more than 16 GPUs");
  std::set<std::string> uuids;
  std::set<unsigned> minors;
  for (std::size_t i = 0; i < world.gpus.size(); ++i) {
    const Gpu& gpu = world.gpus[i];
    const std::string where = "gpus[" + std::to_string(i) + "]";
    if (!uuids.insert(gpu.uuid.text).second) problems.add(node, where + ": uuid is taken");
    if (!minors.insert(gpu.minor).second) problems.add(node, where + ": minor is taken");
    if (i > 0 && !(world.gpus[i - 1].pci < gpu.pci)) {
      problems.add(node, where +
                             ": GPUs are listed in the order of their PCI addresses, as the "
                             "driver counts them");
    }
  }
}

void read_world(const YAML::Node& root, Problems& problems, World& world) {
  YamlReader top(root, "", problems);
  read_driver(top, world.driver);
  world.boot_id = default_boot_id();
  top.always("boot_id", world.boot_id);
  top.always("extras", world.extras);
  const auto gpus = top.take("gpus");
  if (!gpus) problems.add(root, "a world needs gpus");
  if (gpus && top.is_sequence(*gpus, "gpus")) {
    for (const auto& node : *gpus) read_gpu(node, top, world);
    check_gpus(*gpus, world, problems);
  }
  top.always("pair_levels", world.pair_levels);
  read_groups(top, world);
  top.always("next_number", world.next_number);
  read_numbered(top, "faults", world, world.faults);
  read_numbered(top, "events", world, world.events);
  read_numbered(top, "kernel_log", world, world.kernel_log);
  top.finish();
}

}  // namespace

Result<World> parse_world(std::string_view text, const std::string& file) {
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    Problems problems(file);
    World world;
    read_world(root, problems, world);
    if (const std::optional<Error>& problem = problems.first()) return *problem;
    return world;
  } catch (const YAML::Exception& exception) {
    return Error{ErrorCode::kInvalidArgument,
                 file + ":" + std::to_string(exception.mark.line + 1) + ": " + exception.msg};
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kInvalidArgument, file + ": " + exception.what()};
  }
}

Result<World> load_world(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_world(*text, path);
}

}  // namespace tranche::testbed::sim
