// SPDX-License-Identifier: Apache-2.0
#include "apps/unit_memory.h"

#include <exception>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_field.h"

namespace tranche {

namespace {

Result<KeptUnits> parse(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    KeptUnits kept;
    for (const auto& [resource, bytes] : json.items()) {
      kept[resource] = json_value<std::uint64_t>(bytes, "a unit");
    }
    return kept;
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalidArgument, error.what()};
  }
}

}  // namespace

KeptUnits read_kept_units(const std::string& path, const Log& log) {
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  const Result<KeptUnits> kept = text ? parse(*text) : text.error();
  if (kept) return *kept;
  log.warning("which units of memory were chosen before cannot be read; they are chosen anew",
              {{"file", path}, {"reason", kept.error().message}});
  return {};
}

void keep_units(const std::string& path, const KeptUnits& before, const KeptUnits& now,
                const Log& log) {
  if (now == before) return;
  for (const auto& [resource, bytes] : now) {
    const auto was = before.find(resource);
    if (was == before.end() || was->second >= bytes) continue;
    log.warning(
        "a unit of memory is larger than before, because a GPU is",
        {{"resource", resource}, {"before", unit_text(was->second)}, {"now", unit_text(bytes)}});
  }
  if (Status kept = write_atomically(path, nlohmann::json(now).dump(2) + "\n"); !kept) {
    log.warning("the units of memory that were chosen are not kept over a restart",
                {{"reason", kept.error().message}});
  }
}

}  // namespace tranche
