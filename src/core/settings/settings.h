// SPDX-License-Identifier: Apache-2.0
//
// Everything that is configured, as the modules' own option structs. Flags,
// environment and file have been merged and checked by the time one of these
// exists.
#pragma once

#include <string>

#include "base/log.h"
#include "grant/options.h"
#include "handoff/cdi_options.h"
#include "inventory/health_options.h"
#include "kubelet/options.h"
#include "mps/options.h"
#include "nested/options.h"
#include "nvml/options.h"
#include "sharing/policy.h"

namespace tranche {

struct Settings {
  // May the process end when the driver cannot be reached at first start.
  bool fail_on_init_error = true;
  std::string config_file;      // empty: none
  std::string host_root = "/";  // /proc, /sys, /dev and the kernel log are read below it
  std::string state_dir;        // faults that outlive us, and the control socket
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;

  DriverOptions driver;
  HealthOptions health;
  SharingPolicy sharing;
  GrantOptions grant;
  CdiOptions cdi;
  KubeletOptions kubelet;
  MpsOptions mps;
  NestedOptions nested;

  bool operator==(const Settings&) const = default;
};

}  // namespace tranche
