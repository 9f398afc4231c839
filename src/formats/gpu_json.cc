// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_json.h"

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "formats/json_field.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

template <typename T>
void take(const Json& json, const char* key, std::optional<T>& value) {
  if (json.contains(key)) value = json_field<T>(json, key);
}

Json units_to_json(const MigUnits& units) {
  return {{"multiprocessors", units.multiprocessors},
          {"copyEngines", units.copy_engines},
          {"decoders", units.decoders},
          {"encoders", units.encoders},
          {"jpegEngines", units.jpeg_engines},
          {"ofaEngines", units.ofa_engines}};
}

MigUnits units_from_json(const Json& json) {
  return {.multiprocessors = json_field<unsigned>(json, "multiprocessors"),
          .copy_engines = json_field<unsigned>(json, "copyEngines"),
          .decoders = json_field<unsigned>(json, "decoders"),
          .encoders = json_field<unsigned>(json, "encoders"),
          .jpeg_engines = json_field<unsigned>(json, "jpegEngines"),
          .ofa_engines = json_field<unsigned>(json, "ofaEngines")};
}

// Kept, so that node labels do not change while a GPU does not answer. Files of earlier versions
// have none of it.
void put_features(Json& json, const GpuFeatures& features) {
  put(json, "migCapable", features.mig_capable);
  put(json, "pciClass", features.pci_class);
  put(json, "isVgpu", features.is_vgpu);
  if (features.fabric) {
    json["fabric"] = {{"cluster", features.fabric->cluster}, {"clique", features.fabric->clique}};
  }
  if (features.is_vgpu.value_or(false)) {
    json["vgpuHostDriver"] = features.vgpu_host.driver_version;
    json["vgpuHostBranch"] = features.vgpu_host.driver_branch;
  }
}

void take_features(const Json& json, GpuFeatures& features) {
  take(json, "migCapable", features.mig_capable);
  take(json, "pciClass", features.pci_class);
  take(json, "isVgpu", features.is_vgpu);
  if (json.contains("fabric")) {
    const Json& fabric = json.at("fabric");
    features.fabric = FabricClique{json_field<std::string>(fabric, "cluster"),
                                   json_field<unsigned>(fabric, "clique")};
  }
  if (features.is_vgpu.value_or(false)) {
    features.vgpu_host = {json_field<std::string>(json, "vgpuHostDriver"),
                          json_field<std::string>(json, "vgpuHostBranch")};
  }
}

Json mig_to_json(const MigDevice& mig) {
  Json json{{"uuid", mig.uuid.text},
            {"index", mig.index},
            {"gpuInstance", mig.gpu_instance},
            {"computeInstance", mig.compute_instance},
            {"computeSlices", mig.profile.compute_slices},
            {"gpuSlices", mig.profile.gpu_slices},
            {"memoryGb", mig.profile.memory_gb},
            {"attribute", mig.profile.attribute},
            {"memoryBytes", mig.memory_bytes}};
  put(json, "gpuInstanceCap", mig.gpu_instance_cap);
  put(json, "computeInstanceCap", mig.compute_instance_cap);
  if (mig.units) json["units"] = units_to_json(*mig.units);
  return json;
}

MigDevice mig_from_json(const Json& json) {
  MigDevice mig{
      .uuid = MigUuid(json_field<std::string>(json, "uuid")),
      .index = json_field<unsigned>(json, "index"),
      .gpu_instance = json_field<unsigned>(json, "gpuInstance"),
      .compute_instance = json_field<unsigned>(json, "computeInstance"),
      .profile = {json_field<unsigned>(json, "computeSlices"),
                  json_field<unsigned>(json, "gpuSlices"), json_field<unsigned>(json, "memoryGb"),
                  json_field<std::string>(json, "attribute")},
      .memory_bytes = json_field<std::uint64_t>(json, "memoryBytes")};
  take(json, "gpuInstanceCap", mig.gpu_instance_cap);
  take(json, "computeInstanceCap", mig.compute_instance_cap);
  if (json.contains("units")) mig.units = units_from_json(json.at("units"));
  return mig;
}

}  // namespace

Json gpu_to_json(const Gpu& gpu) {
  Json json{{"uuid", gpu.uuid.text},
            {"index", gpu.index},
            {"model", gpu.model},
            {"memoryBytes", gpu.memory_bytes},
            {"computeMajor", gpu.compute_major},
            {"computeMinor", gpu.compute_minor},
            {"migEnabled", gpu.mig_enabled},
            {"mig", Json::array()}};
  put(json, "minor", gpu.minor);
  put(json, "numaNode", gpu.numa_node);
  put_features(json, gpu.features);
  if (gpu.pci) json["pci"] = to_string(*gpu.pci);
  for (const MigDevice& mig : gpu.mig) json["mig"].push_back(mig_to_json(mig));
  return json;
}

Gpu gpu_from_json(const Json& json) {
  Gpu gpu{.uuid = GpuUuid(json_field<std::string>(json, "uuid")),
          .index = json_field<unsigned>(json, "index"),
          .model = json_field<std::string>(json, "model"),
          .memory_bytes = json_field<std::uint64_t>(json, "memoryBytes"),
          .compute_major = json_field<unsigned>(json, "computeMajor"),
          .compute_minor = json_field<unsigned>(json, "computeMinor"),
          .mig_enabled = json_field<bool>(json, "migEnabled")};
  take(json, "minor", gpu.minor);
  take(json, "numaNode", gpu.numa_node);
  take_features(json, gpu.features);
  if (json.contains("pci")) gpu.pci = parse_pci_address(json_field<std::string>(json, "pci"));
  for (const Json& mig : json.at("mig")) gpu.mig.push_back(mig_from_json(mig));
  return gpu;
}

}  // namespace tranche::formats
