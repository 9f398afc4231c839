// SPDX-License-Identifier: Apache-2.0
//
// Reads what node labels say of the machine.
//
// Not thread-safe: belongs to the main thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/features/machine_facts.h"
#include "core/settings/feature_options.h"

namespace tranche::node {

class MachineReader {
 public:
  // `started`: the agent's start, in seconds since 1970.
  explicit MachineReader(std::int64_t started) : started_(started) {}

  // Nothing, if no labels are asked for. The machine's type is read until it is known, and then
  // no more.
  MachineFacts look(const FeatureOptions& options, const std::string& host_root);

 private:
  const std::int64_t started_;
  std::string path_;  // of type_
  std::string type_;
};

}  // namespace tranche::node
