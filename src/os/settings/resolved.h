// SPDX-License-Identifier: Apache-2.0
//
// Every setting of the flag table with its value and origin, after precedence
// has been applied. Not thread-safe while it is changed.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "os/settings/option.h"
#include "os/settings/origin.h"
#include "os/settings/values.h"

namespace tranche::os {

struct Setting {
  const Option* flag = nullptr;
  Value value;
  Origin origin;

  bool is_given() const { return origin.kind != OriginKind::kDefault; }
};

class Resolved {
 public:
  explicit Resolved(std::vector<Setting> settings) : settings_(std::move(settings)) {}

  const std::vector<Setting>& all() const { return settings_; }

  // By Option::title(). A name that is not in the table, or another type
  // than its row has, is a bug and ends the program.
  const Setting& at(std::string_view title) const;
  bool truth(std::string_view title) const;
  const std::string& text(std::string_view title) const;
  const std::vector<std::string>& list(std::string_view title) const;
  std::chrono::milliseconds duration(std::string_view title) const;

  // Puts the values of all options that have a field into it.
  template <typename Settings>
  void fill(Settings& settings) const {
    for (const Setting& setting : settings_) {
      for (const Field& field : setting.flag->to) {
        if (field.set != nullptr) field.set(&settings, setting.value);
      }
    }
  }

  // Puts what a default follows from in its place.
  void replace(std::string_view title, Value value, const std::string& reason);

 private:
  std::vector<Setting> settings_;  // in the order of the table
};

// "--mig-strategy=mixd", "MIG_STRATEGY", "config.yaml:3: flags.migStrategy":
// what a message about this setting begins with.
std::string where(const Setting& setting);

}  // namespace tranche::os
