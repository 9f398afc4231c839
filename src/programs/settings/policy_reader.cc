// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/policy_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "programs/settings/device_words.h"
#include "programs/settings/row_keys.h"
#include "programs/settings/row_overlap.h"

namespace tranche::programs {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30U;

// Whether it names a MIG device itself, and not its GPU.
bool is_mig(const DeviceRef& device) {
  if (std::holds_alternative<MigIndex>(device)) return true;
  const auto* uuid = std::get_if<AnyUuid>(&device);
  return uuid != nullptr && uuid->text.starts_with("MIG-");
}

// Reads one row and reports all its problems.
class PolicyRow {
 public:
  PolicyRow(const ConfigNode& row, std::string shown, FileProblems& problems)
      : row_(row), shown_(std::move(shown)), problems_(problems) {}

  // Empty: the row has a problem.
  std::optional<ResourcePolicy> read() {
    if (!has("resource")) {
      // `name` was already reported with the right key.
      const bool is_reported = find_item(row_, "name") != nullptr;
      if (!is_reported) miss("no resource specified (name what the devices are offered as)");
      good_ = false;
    }
    for (const RowKey<ResourcePolicy>& key : policy_keys()) {
      if (has(key.name)) read_key(key);
    }
    complete();
    check_mig();
    check_terms();
    if (!good_) return std::nullopt;
    return std::move(policy_);
  }

 private:
  bool has(std::string_view name) const { return given_item(row_, name) != nullptr; }

  void miss(const std::string& what) {
    problems_.add(row_.line, shown_, what);
    good_ = false;
  }
  void complain(std::string_view name, const std::string& what) {
    RowValue(row_, name, shown_, problems_).complain(what);
    good_ = false;
  }

  std::string misfit(const RowKey<ResourcePolicy>& key) const {
    std::vector<std::string> forms;
    for (const Word<ShareForm>& form : kShareForms) {
      if (key.applies({.terms = {.form = form.meaning}})) forms.emplace_back(form.text);
    }
    return fmt::format(
        "belongs to share: {}, and this row has share: {}; leave it out, or change share",
        join(forms, " or "), to_string(policy_.terms.form));
  }

  // If the row's form is unknown, accepts every key, to report all other problems at once.
  void read_key(const RowKey<ResourcePolicy>& key) {
    if (key.applies != nullptr && is_form_known_ && !key.applies(policy_)) {
      return complain(key.name, key.misfit.empty() ? misfit(key) : std::string(key.misfit));
    }
    RowValue value(row_, key.name, shown_, problems_);
    key.field.read(policy_, value);
    good_ = good_ && value.is_good();
    if (key.name == "share") is_form_known_ = value.is_good();
  }

  // Defaults that depend on the row's form.
  void complete() {
    const ShareForm form = policy_.terms.form;
    if (form == ShareForm::kReplicas && !has("replicas")) {
      miss("no replicas specified (how often is each device offered?)");
    }
    if (form == ShareForm::kMemory && !has("unit")) policy_.unit = kGiB;
    if (form == ShareForm::kWhole || has("placement")) return;
    policy_.terms.placement =
        form == ShareForm::kMemory ? SharePlacement::kPack : SharePlacement::kSpread;
  }

  void check_mig() {
    const auto* listed = std::get_if<std::vector<DeviceRef>>(&policy_.devices);
    if (listed == nullptr || policy_.mig_profile) return;
    const auto mig = std::ranges::find_if(*listed, is_mig);
    if (mig == listed->end()) return;
    complain("devices", to_text(*mig) +
                            " is a MIG device, and a row without migProfile is for GPUs that are "
                            "not cut; add migProfile: \"*\"");
  }

  void check_terms() {
    const Terms& terms = policy_.terms;
    const bool is_nvidias = terms.placement == SharePlacement::kDistributed ||
                            terms.placement == SharePlacement::kPacked;
    if (terms.form == ShareForm::kMemory && has("placement") && is_nvidias) {
      complain("placement",
               fmt::format("{} is for replicas; the units of a container come from one GPU: the "
                           "emptiest (spread) or the fullest that has room (pack)",
                           to_string(terms.placement)));
    }
    if (terms.dialect == Dialect::kGpushare && terms.form != ShareForm::kMemory) {
      complain("dialect", "gpushare is a convention for memory; it needs share: memory");
    }
    if (terms.form == ShareForm::kWhole &&
        terms.demanded.value_or(Enforcement::kNone) != Enforcement::kNone) {
      complain(
          "enforcement",
          fmt::format("{} limits containers that share a device, and this row has share: whole; "
                      "leave it out, or use share: replicas with replicas: 1",
                      text_of(kDemands, terms.demanded)));
    }
  }

  const ConfigNode& row_;
  const std::string shown_;
  FileProblems& problems_;
  ResourcePolicy policy_;
  bool good_ = true;
  bool is_form_known_ = true;
};

// The first key on which two rows of one resource disagree. The kubelet sees one resource, so its
// shares must be alike.
std::optional<std::string_view> disagreement(const ResourcePolicy& one,
                                             const ResourcePolicy& other) {
  for (const RowKey<ResourcePolicy>& key : policy_keys()) {
    if (key.is_term && !key.field.same(one, other)) return key.name;
  }
  return std::nullopt;
}

class PolicyRows {
 public:
  explicit PolicyRows(FileProblems& problems) : problems_(problems) {}

  Rows<ResourcePolicy> read(const ConfigNode& rows) {
    for_each_row(rows, "tranche.policies", [&](const ConfigNode& row, const std::string& shown) {
      auto policy = PolicyRow(row, shown, problems_).read();
      if (!policy) return;
      compare(*policy, row.line, shown);
      section_.add(*std::move(policy), row.line);
    });
    return std::move(section_);
  }

 private:
  void compare(const ResourcePolicy& policy, unsigned line, const std::string& shown) {
    const auto [first, is_new] = first_.emplace(policy.resource, section_.rows.size());
    if (!is_new) {
      if (const auto key = disagreement(section_.rows[first->second], policy)) {
        problems_.add(
            line, shown,
            fmt::format("{} has another {} in the row on line {}; one resource has the "
                        "same terms in all rows: make them equal, or give it another name",
                        policy.resource.text, *key, section_.lines[first->second]));
        return;
      }
    }
    const std::string kind =
        fmt::format("{}\n{}\n{}", policy.resource.text, policy.model.value_or(""),
                    policy.mig_profile.value_or(""));
    if (const auto other = overlap_.add(kind, policy.devices, line)) {
      problems_.add(line, shown,
                    fmt::format("selects devices for {} that the row on line {} selects too",
                                policy.resource.text, *other));
    }
  }

  FileProblems& problems_;
  Rows<ResourcePolicy> section_;
  std::map<ResourceName, std::size_t> first_;  // row of each resource
  RowOverlap overlap_;
};

}  // namespace

Rows<ResourcePolicy> read_policies(const ConfigNode& own, FileProblems& problems) {
  const ConfigNode* rows = given_item(own, "policies");
  if (rows == nullptr || rows->kind != NodeKind::kList) return {};
  if (rows->items.empty()) {
    problems.add(key_line(own, "policies"), "tranche.policies",
                 "an empty list offers nothing by itself; leave it out, or add a row");
  }
  return PolicyRows(problems).read(*rows);
}

}  // namespace tranche::programs
