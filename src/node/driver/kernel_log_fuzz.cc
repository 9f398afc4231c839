// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/kernel_record.h"

// A parsed record has a valid address and no more text than the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto xid = tranche::node::parse_kernel_record(text);
  if (xid && (xid->pci.bus > 0xFF || xid->text.size() > size)) std::abort();
  return 0;
}
