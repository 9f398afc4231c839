// SPDX-License-Identifier: Apache-2.0
//
// The expected names, default and meaning of each setting. Written out here and not taken from the
// flag table, because manifests rely on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/settings/settings.h"

namespace tranche::programs::testing {

struct SettingRow {
  std::vector<std::string> names;  // the flag and its aliases
  std::vector<std::string> variables;
  std::string key;
  std::string fallback;                   // the effective value when nothing is given
  std::string sample;                     // another value, as on the command line
  std::string other;                      // a third one, or the default
  std::string in_file;                    // the sample, as in the file
  std::string wrong;                      // must be refused
  std::function<void(Settings&)> expect;  // what the sample changes
};

inline void changes_nothing(Settings&) {}

std::vector<SettingRow> nvidia_rows();   // NVIDIA's flags, and those beside them in the file
std::vector<SettingRow> our_rows();      // sharing, MPS and nested clusters
std::vector<SettingRow> feature_rows();  // node labels
std::vector<SettingRow> cluster_rows();  // what is written at the API server
std::vector<SettingRow> agent_rows();    // paths on the node
std::vector<SettingRow> config_rows();   // configuration by node label
std::vector<SettingRow> old_rows();      // taken from other plugins, some without effect

inline const std::vector<SettingRow>& all_rows() {
  static const std::vector<SettingRow> rows = [] {
    std::vector<SettingRow> all;
    for (const auto& part : {nvidia_rows(), our_rows(), feature_rows(), cluster_rows(),
                             agent_rows(), config_rows(), old_rows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace tranche::programs::testing
