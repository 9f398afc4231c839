// SPDX-License-Identifier: Apache-2.0
//
// Keeps the files in the CDI directory as planned, and reports which devices a runtime can resolve
// now. Touches only our own kinds.
//
// Not thread-safe. Publish the state that it returns.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/cdi/cdi_plan.h"
#include "core/cdi/cdi_spec.h"
#include "core/cdi/cdi_state.h"

namespace tranche::node {

// Checks that a container can get this device. The error is fit for the answer to the kubelet.
Status check_resolvable(const CdiState& state, std::string_view device_class,
                        const std::string& name);

class CdiWriter {
 public:
  explicit CdiWriter(std::string directory);

  // Writes files that differ from the plan, also if they were deleted or edited, and removes those
  // that are no longer planned. Without a change it only reads. A failed write leaves the old file.
  CdiState refresh(const CdiPlan& plan);

 private:
  struct Written {
    CdiSpec spec;
    std::string text;
  };

  Status write(const CdiSpec& spec);
  // Names in the file on disk whose devices equal those of `wanted`.
  std::set<std::string> current_devices(const CdiSpec& wanted) const;
  std::string path_of(std::string_view device_class) const;

  const std::string directory_;
  std::map<std::string, Written> written_;  // by class: last written
};

// The specifications in the configured directory.
class CdiFiles {
 public:
  // What the files resolve, as last written.
  const CdiState& state() const { return state_; }
  // Writes them as CdiWriter does. True: the state changed.
  bool refresh(const std::string& directory, const CdiPlan& plan);

 private:
  std::string directory_;
  std::optional<CdiWriter> writer_;
  CdiState state_;
};

}  // namespace tranche::node
