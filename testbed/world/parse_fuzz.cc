// SPDX-License-Identifier: Apache-2.0
//
// Whatever is read as a world is written so that it reads back equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "testbed/world/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto world = parse_world(text, "input");
  if (!world) return 0;
  const auto again = parse_world(emit_world(*world), "output");
  if (!again || !(*again == *world)) std::abort();
  return 0;
}
