// SPDX-License-Identifier: Apache-2.0
#include "node/driver/fault_memory_file.h"

#include "formats/fault_memory_json.h"
#include "os/files.h"
#include "os/put_aside.h"

namespace tranche::node {
namespace {

void hold(std::optional<std::uint64_t>& now, const std::optional<std::uint64_t>& written) {
  if (now && written && *now >= *written) now = written;
}

// Resets counters that only grew to the written value. The older value serves as well: a counter
// that falls below it shows a reset.
NodeState with_counters_held(NodeState state, const NodeState& written) {
  for (auto& [gpu, vitals] : state.vitals) {
    const auto before = written.vitals.find(gpu);
    if (before == written.vitals.end()) continue;
    hold(vitals.uncorrected_ecc, before->second.uncorrected_ecc);
    hold(vitals.energy_mj, before->second.energy_mj);
    hold(vitals.pcie_replays, before->second.pcie_replays);
  }
  return state;
}

}  // namespace

std::optional<NodeState> FaultMemoryFile::recall() {
  const Result<std::string> text = read_file(path_);
  if (!text) {
    if (text.error().code != ErrorCode::kNotFound) {
      log_.warning("cannot read the faults of earlier runs", {{"reason", text.error().message}});
    }
    return std::nullopt;
  }
  Result<NodeState> recalled = parse_fault_memory(*text);
  if (!recalled) {
    const Result<std::string> aside = put_aside(path_);
    log_.error(
        "cannot parse the faults of earlier runs; health comes from the driver alone, so a faulty "
        "gpu may count as healthy. Look at the file, then delete it",
        {{"file", aside ? *aside : path_}, {"reason", recalled.error().message}});
    return std::nullopt;
  }
  written_ = *text;
  written_state_ = *recalled;
  for (const Fault& fault : recalled->faults) {
    log_.warning("fault remembered from before the start",
                 {{"gpu", fault.gpu.text}, {"reason", fault.text}});
  }
  return *std::move(recalled);
}

void FaultMemoryFile::remember(const NodeState& state) {
  if (written_.empty() && state.faults.empty()) return;  // nothing to remember yet
  if (to_fault_memory(with_counters_held(state, written_state_)) == written_) return;
  std::string text = to_fault_memory(state);
  if (Status written = write_atomically(path_, text, 0600); !written) {
    if (logged_.changed("memory", written.error().message)) {
      log_.error("cannot write the open faults; a restart would forget them",
                 {{"reason", written.error().message}});
    }
    return;
  }
  logged_.forget("memory");
  written_ = std::move(text);
  written_state_ = state;
}

}  // namespace tranche::node
