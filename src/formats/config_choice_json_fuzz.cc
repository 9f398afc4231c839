// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/config_choice_json.h"

// What is parsed never leads out of the folder, and survives a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto choice =
      tranche::formats::parse_config_choice({reinterpret_cast<const char*>(data), size});
  if (!choice) return 0;
  if (choice->name.find('/') != std::string::npos || choice->name.starts_with("..")) std::abort();
  const auto again = tranche::formats::parse_config_choice(tranche::formats::to_json(*choice));
  if (!again || *again != *choice) std::abort();
  return 0;
}
