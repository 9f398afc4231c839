// SPDX-License-Identifier: Apache-2.0
//
// All settings, as the modules' own option structs. Flags, environment and file are already
// merged and checked.
#pragma once

#include <string>

#include "base/log_options.h"
#include "core/settings/cdi_options.h"
#include "core/settings/cluster_options.h"
#include "core/settings/driver_options.h"
#include "core/settings/feature_options.h"
#include "core/settings/grant_options.h"
#include "core/settings/health_options.h"
#include "core/settings/kubelet_options.h"
#include "core/settings/mps_options.h"
#include "core/settings/named_config_options.h"
#include "core/settings/nested_options.h"
#include "core/sharing/policy.h"

namespace tranche::core {

struct Settings {
  // Whether the process exits when the driver cannot be reached at the first start.
  bool fail_on_init_error = true;
  std::string config_file;      // empty: none
  std::string host_root = "/";  // /proc, /sys, /dev and the kernel log are read below it
  std::string state_dir;        // for state that survives a restart, and the control socket
  std::string node_name;        // for people; empty: the host's name
  std::string instance_lock;    // held while we serve; empty: none
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
  ClusterOptions cluster;
  FeatureOptions features;
  NamedConfigOptions named_configs;

  bool operator==(const Settings&) const = default;
};

}  // namespace tranche::core
