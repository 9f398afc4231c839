// SPDX-License-Identifier: Apache-2.0
//
// A CDI specification taken apart into lines, one for each thing that it gives
// a container, so that two of them can be compared thing by thing:
//   device GPU-1: node /dev/nvidia0 from … 195:0 mode 666 group 0 rwm
//   common: mount /usr/bin/nvidia-smi from … (ro,nosuid,nodev,rbind,rprivate)
//   common: link libcuda.so.1::/usr/lib64/libcuda.so
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace tranche::tests {

using SpecEntries = std::set<std::string>;

// `text` is a specification's JSON. What is written differently and means the
// same (a field left out, an order) gives the same lines.
Result<SpecEntries> spec_entries(const std::string& text);

}  // namespace tranche::tests
