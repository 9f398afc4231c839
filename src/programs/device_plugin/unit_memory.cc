// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/unit_memory.h"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "formats/json_field.h"
#include "os/files.h"

namespace tranche::programs {
namespace {

Result<KeptUnits> parse(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    if (!json.is_object()) return Error{ErrorCode::kInvalidArgument, "it is not a JSON object"};
    KeptUnits kept;
    for (const auto& [resource, bytes] : json.items()) {
      kept[resource] = json_value<std::uint64_t>(bytes, "a unit");
    }
    return kept;
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalidArgument, error.what()};
  }
}

KeptUnits read(const std::string& path, const Log& log) {
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  const Result<KeptUnits> kept = text ? parse(*text) : text.error();
  if (kept) return *kept;
  log.warning("cannot read which units of memory were chosen before; choosing them again",
              {{"file", path}, {"reason", kept.error().message}});
  return {};
}

}  // namespace

UnitMemory::UnitMemory(std::string path, const Log& log)
    : path_(std::move(path)), log_(log), kept_(read(path_, log)) {}

void UnitMemory::keep(KeptUnits now) {
  if (now == kept_) return;
  for (const auto& [resource, bytes] : now) {
    const auto was = kept_.find(resource);
    if (was == kept_.end() || was->second >= bytes) continue;
    log_.warning(
        "a unit of memory is larger than before, because a GPU is",
        {{"resource", resource}, {"before", unit_text(was->second)}, {"now", unit_text(bytes)}});
  }
  kept_ = std::move(now);
  if (Status written = write_atomically(path_, nlohmann::json(kept_).dump(2) + "\n"); !written) {
    log_.warning("the units of memory that were chosen are not kept over a restart",
                 {{"reason", written.error().message}});
  }
}

}  // namespace tranche::programs
