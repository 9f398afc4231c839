// SPDX-License-Identifier: Apache-2.0
//
// Keeps the files in the CDI directory as planned, and says which devices a
// runtime can resolve now. Touches the files of our own kinds and no others.
//
// Not thread-safe: belongs to one thread. Publish the state it returns.
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

// Whether a container may be given this device; if not, the reason, fit for
// the answer to the kubelet.
Status check_resolvable(const CdiState& state, std::string_view device_class,
                        const std::string& name);

class CdiWriter {
 public:
  explicit CdiWriter(std::string directory);

  // Writes what differs from the plan, also where somebody deleted or edited a
  // file of ours or the directory was emptied by a reboot; removes what the
  // plan has no more. Cheap when nothing changed: the files are read. A failed
  // write leaves the old file.
  CdiState refresh(const CdiPlan& plan);

 private:
  struct Written {
    CdiSpec spec;
    std::string text;
  };

  Status write(const CdiSpec& spec);
  // Names in the file on disk that mean what `wanted` says.
  std::set<std::string> current_devices(const CdiSpec& wanted) const;
  std::string path_of(std::string_view device_class) const;

  const std::string directory_;
  std::map<std::string, Written> written_;  // by class: what we last put on disk
};

// The specifications in the directory that is configured now.
class CdiFiles {
 public:
  // What they resolve, as they were last written.
  const CdiState& state() const { return state_; }
  // Writes them as CdiWriter does. True: they resolve something else than before.
  bool refresh(const std::string& directory, const CdiPlan& plan);

 private:
  std::string directory_;
  std::optional<CdiWriter> writer_;
  CdiState state_;
};

}  // namespace tranche::node
