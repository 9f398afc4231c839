// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/cdi_writer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/path.h"
#include "core/grant/cdi_names.h"
#include "formats/cdi_json.h"
#include "os/errno_error.h"
#include "os/files.h"

namespace tranche::node {
namespace {

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("removing " + path);
  return Done{};
}

// A link does not count, because others may change its target.
bool holds(const std::string& path, const std::string& text) {
  const Result<std::string> content = read_plain_file(path, text.size());
  return content && *content == text;
}

void add_problem(const Status& status, CdiState& state) {
  if (status) return;
  if (!state.problem.empty()) state.problem += "; ";
  state.problem += status.error().message;
}

}  // namespace

Status check_resolvable(const CdiState& state, std::string_view device_class,
                        const std::string& name) {
  const std::string key(device_class);
  const auto names = state.devices.find(key);
  if (names != state.devices.end() && names->second.contains(name)) return Done{};
  std::string reason = "it is in no CDI specification";
  if (!state.problem.empty()) reason = state.problem;
  auto why = state.left_out.find(fmt::format("{}={}", key, name));
  if (why == state.left_out.end()) why = state.left_out.find(key);
  if (why != state.left_out.end()) reason = why->second;
  return Error{ErrorCode::kUnavailable,
               fmt::format("CDI device {}: {}", cdi_qualified_name(device_class, name), reason)};
}

CdiWriter::CdiWriter(std::string directory) : directory_(std::move(directory)) {}

std::string CdiWriter::path_of(std::string_view device_class) const {
  return below(directory_, cdi_file_name(device_class));
}

Status CdiWriter::write(const CdiSpec& spec) {
  Result<std::string> text = cdi_json(spec);
  if (!text) return text.error();
  const std::string path = path_of(spec.device_class);
  if (!holds(path, *text)) {
    if (Status made = make_directories(directory_); !made) return made;
    if (Status written = write_atomically(path, *text); !written) return written;
  }
  written_.insert_or_assign(spec.device_class, Written{spec, *std::move(text)});
  return Done{};
}

std::set<std::string> CdiWriter::current_devices(const CdiSpec& wanted) const {
  std::set<std::string> names;
  const auto written = written_.find(wanted.device_class);
  if (written == written_.end()) return names;
  // After a failed write the old file is still right for unchanged devices. For changed ones it
  // would name the wrong node or an old driver.
  const CdiSpec& on_disk = written->second.spec;
  if (on_disk.common != wanted.common) return names;
  if (!holds(path_of(wanted.device_class), written->second.text)) return names;
  for (const CdiDevice& device : wanted.devices) {
    if (std::ranges::find(on_disk.devices, device) != on_disk.devices.end()) {
      names.insert(device.name);
    }
  }
  return names;
}

CdiState CdiWriter::refresh(const CdiPlan& plan) {
  CdiState state = {.left_out = plan.left_out};
  for (const std::string_view known : cdi_classes()) {
    const std::string device_class(known);
    const auto planned = std::ranges::find(plan.specs, device_class, &CdiSpec::device_class);
    if (planned == plan.specs.end() && !plan.kept.contains(device_class)) {
      written_.erase(device_class);
      add_problem(remove_file(path_of(device_class)), state);
      continue;
    }
    const auto before = written_.find(device_class);
    // Written by an earlier run of the agent: stays as it is.
    if (planned == plan.specs.end() && before == written_.end()) continue;
    const CdiSpec wanted = planned != plan.specs.end() ? *planned : before->second.spec;
    add_problem(write(wanted), state);
    if (auto names = current_devices(wanted); !names.empty()) {
      state.devices[device_class] = std::move(names);
    }
  }
  return state;
}

bool CdiFiles::refresh(const std::string& directory, const CdiPlan& plan) {
  if (!writer_ || directory_ != directory) {
    directory_ = directory;
    writer_.emplace(directory);
  }
  return std::exchange(state_, writer_->refresh(plan)) != state_;
}

}  // namespace tranche::node
