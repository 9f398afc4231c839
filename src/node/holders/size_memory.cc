// SPDX-License-Identifier: Apache-2.0
#include "node/holders/size_memory.h"

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "formats/json_field.h"
#include "os/files.h"

namespace tranche::node {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
// Sums of sizes must not wrap.
constexpr std::uint64_t kTooMuch = 1ULL << 50;

// Bytes by resource and id of a share or device.
GrantedSizes sizes_in(const Json& json, const char* key) {
  GrantedSizes sizes;
  for (const auto& [resource, of_resource] : json.at(key).items()) {
    for (const auto& [id, bytes] : of_resource.items()) {
      const auto size = json_value<std::uint64_t>(bytes, "a size");
      if (size > kTooMuch) throw std::runtime_error("a size is larger than any GPU's memory");
      sizes[resource].emplace(id, size);
    }
  }
  return sizes;
}

LedgerSizes read(const std::string& path, const Log& log) {
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  const Result<LedgerSizes> sizes = text ? parse_sizes(*text) : text.error();
  if (sizes) return *sizes;
  log.error("cannot read the sizes of shares that pods hold; using the configured sizes",
            {{"file", path}, {"reason", sizes.error().message}});
  return {};
}

}  // namespace

std::string to_text(const LedgerSizes& sizes) {
  const Json json{{"version", kVersion},
                  {"granted", sizes.granted},
                  {"offered", sizes.offered},
                  {"offeredBefore", sizes.offered_before}};
  // An id comes from the kubelet and may hold any byte.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LedgerSizes> parse_sizes(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json_field<int>(json, "version") != kVersion) {
      return Error{ErrorCode::kInvalidArgument, "unsupported version"};
    }
    return LedgerSizes{sizes_in(json, "granted"), sizes_in(json, "offered"),
                       sizes_in(json, "offeredBefore")};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalidArgument, error.what()};
  }
}

SizeMemory::SizeMemory(std::string path, const Log& log)
    : path_(std::move(path)), log_(log), recalled_(read(path_, log)) {}

Status SizeMemory::keep(const LedgerSizes& sizes) {
  Status written = write_atomically(path_, to_text(sizes), 0600);
  if (written) {
    logged_.forget("write");
  } else if (logged_.changed("write", written.error().message)) {
    log_.error("cannot write the sizes of shares that pods hold; a restart would forget them",
               {{"reason", written.error().message}});
  }
  return written;
}

}  // namespace tranche::node
