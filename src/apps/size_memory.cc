// SPDX-License-Identifier: Apache-2.0
#include "apps/size_memory.h"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_field.h"

namespace tranche {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// Bytes by resource and id, of a share or of a device.
GrantedSizes sizes_in(const Json& json, const char* key) {
  GrantedSizes sizes;
  for (const auto& [resource, of_resource] : json.at(key).items()) {
    for (const auto& [id, bytes] : of_resource.items()) {
      sizes[resource].emplace(id, json_value<std::uint64_t>(bytes, "a size"));
    }
  }
  return sizes;
}

LedgerBook::Sizes read(const std::string& path, const Log& log) {
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  const Result<LedgerBook::Sizes> sizes = text ? parse_sizes(*text) : text.error();
  if (sizes) return *sizes;
  log.error(
      "cannot read the sizes of shares that pods hold; they count with the sizes that are "
      "configured now",
      {{"file", path}, {"reason", sizes.error().message}});
  return {};
}

}  // namespace

std::string to_text(const LedgerBook::Sizes& sizes) {
  const Json json{{"version", kVersion},
                  {"granted", sizes.granted},
                  {"offered", sizes.offered},
                  {"offeredBefore", sizes.offered_before}};
  // An id is the kubelet's word and may hold any byte.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LedgerBook::Sizes> parse_sizes(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json_field<int>(json, "version") != kVersion) {
      return Error{ErrorCode::kInvalidArgument, "it is of another version"};
    }
    return LedgerBook::Sizes{sizes_in(json, "granted"), sizes_in(json, "offered"),
                             sizes_in(json, "offeredBefore")};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalidArgument, error.what()};
  }
}

SizeMemory::SizeMemory(std::string path, const Log& log)
    : path_(std::move(path)), log_(log), written_(read(path_, log)) {}

void SizeMemory::keep(const LedgerBook::Sizes& sizes) {
  if (sizes == written_) return;
  if (Status written = write_atomically(path_, to_text(sizes), 0600); !written) {
    if (said_.changed("write", written.error().message)) {
      log_.error("cannot write the sizes of shares that pods hold; a restart would forget them",
                 {{"reason", written.error().message}});
    }
    return;
  }
  said_.forget("write");
  written_ = sizes;
}

}  // namespace tranche
