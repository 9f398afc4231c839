// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/gpu_numbers_json.h"

// A file that is parsed survives a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto numbers =
      tranche::formats::parse_gpu_numbers({reinterpret_cast<const char*>(data), size});
  if (!numbers) return 0;
  const auto again = tranche::formats::parse_gpu_numbers(tranche::formats::to_json(*numbers));
  if (!again || *again != *numbers) std::abort();
  return 0;
}
