// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_numbers_json.h"

#include <fmt/core.h>

#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "formats/json_field.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

NumberedSlot slot_from_json(const Json& json) {
  const auto address = json_field<std::string>(json, "pci");
  const auto pci = parse_pci_address(address);
  if (!pci) throw std::runtime_error(fmt::format("'{}' is no PCI address", address));
  return {*pci, GpuUuid(json_field<std::string>(json, "uuid")),
          json_field<std::string>(json, "model")};
}

GpuNumbers numbers_from_json(const Json& json) {
  GpuNumbers numbers;
  std::set<PciAddress> addresses;
  std::set<GpuUuid> uuids;
  for (const Json& entry : json.at("numbers")) {
    const auto number = json_field<unsigned>(entry, "number");
    NumberedSlot slot = slot_from_json(entry);
    if (!addresses.insert(slot.pci).second) {
      throw std::runtime_error(fmt::format("PCI address {} is there twice", to_string(slot.pci)));
    }
    if (!slot.uuid.empty() && !uuids.insert(slot.uuid).second) {
      throw std::runtime_error(fmt::format("uuid {} is there twice", slot.uuid.text));
    }
    if (!numbers.try_emplace(number, std::move(slot)).second) {
      throw std::runtime_error(fmt::format("number {} is there twice", number));
    }
  }
  return numbers;
}

}  // namespace

std::string to_json(const GpuNumbers& numbers) {
  Json json{{"version", kVersion}, {"numbers", Json::array()}};
  for (const auto& [number, slot] : numbers) {
    json["numbers"].push_back({{"number", number},
                               {"pci", to_string(slot.pci)},
                               {"uuid", slot.uuid.text},
                               {"model", slot.model}});
  }
  // A driver's text may hold bytes that are no UTF-8; they must not stop us.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<GpuNumbers> parse_gpu_numbers(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const int version = json_field<int>(json, "version");
    if (version != kVersion) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("it has version {}, and this program reads version {}", version, kVersion)};
    }
    return numbers_from_json(json);
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
}

}  // namespace tranche::formats
