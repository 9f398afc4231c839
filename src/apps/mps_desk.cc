// SPDX-License-Identifier: Apache-2.0
#include "apps/mps_desk.h"

#include <algorithm>
#include <utility>

#include "apps/held_devices.h"
#include "base/files.h"

namespace tranche {
namespace {

bool wants_mps(const Catalog& catalog) {
  return std::ranges::any_of(catalog.offers, uses_mps, &Offer::terms);
}

bool runs_elsewhere(const MpsOptions& options) {
  return options.daemons == MpsDaemons::kOutside || options.daemons == MpsDaemons::kNvidia;
}

}  // namespace

MpsDesk::MpsDesk(const Settings& settings, std::function<void()> changed, const Log& log)
    : changed_(std::move(changed)), log_(log), modes_(settings.driver) {
  if (path_exists(settings.driver.container_root)) {
    host_.driver_root = settings.driver.container_root;
  }
}

void MpsDesk::add_to(Enforcers& enforcers, const MpsOptions& options,
                     const Inventory& inventory) const {
  enforcers.mps_of_others = runs_elsewhere(options);
  if (runs_elsewhere(options)) {
    enforcers.no_exclusive = "the daemons are not ours; the compute mode is their keeper's";
    return;
  }
  const Result<DriverPrograms> programs = find_programs(host_);
  if (!programs) {
    enforcers.no_mps = programs.error().message;
  } else if (inventory.driver == DriverKind::kDeviceNodes) {
    enforcers.no_mps =
        "the driver's library is not there, and device nodes tell too little of GPUs";
  }
}

void MpsDesk::serve(const Catalog& catalog, const MpsOptions& options, const Ledger* ledger) {
  // A folder of daemons: an earlier agent's may still run, and are to end.
  if (!supervisor_ && !wants_mps(catalog) && !path_exists(options.directory)) return;
  if (!supervisor_) {
    supervisor_ = std::make_unique<MpsSupervisor>(
        host_, MpsTimings{},
        [this](const std::string& uuid, bool exclusive) -> Status {
          const std::lock_guard lock(modes_mutex_);
          return modes_.set(GpuUuid(uuid),
                            exclusive ? ComputeMode::kExclusiveProcess : ComputeMode::kDefault);
        },
        log_);
    supervisor_->on_report(changed_);
  }
  supervisor_->set_plan(plan_mps(
      catalog, options, ledger != nullptr ? largest_held(catalog, *ledger) : LargestHeld{}));
}

MpsReport MpsDesk::report() const {
  return supervisor_ ? *supervisor_->reports().get().value : MpsReport{};
}

}  // namespace tranche
