// SPDX-License-Identifier: Apache-2.0
#include "config/policy_reader.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "config/device_words.h"
#include "config/memory_size.h"
#include "config/row_fields.h"
#include "config/row_overlap.h"
#include "config/sharing_words.h"
#include "config/values.h"

namespace tranche {
namespace {

// Whether it names a MIG device by itself, and not the GPU that it is on.
bool is_mig(const DeviceRef& device) {
  if (std::holds_alternative<MigIndex>(device)) return true;
  const auto* uuid = std::get_if<AnyUuid>(&device);
  return uuid != nullptr && uuid->text.starts_with("MIG-");
}

// One row. Problems are told as they are met, and those of a row all at once.
class PolicyRow {
 public:
  PolicyRow(const ConfigNode& row, std::string shown, FileProblems& problems)
      : row_(row), shown_(std::move(shown)), problems_(problems), fields_(problems) {}

  // Empty: the row has a problem.
  std::optional<ResourcePolicy> read() {
    read_resource();
    read_devices();
    policy_.model = pattern("model");
    policy_.mig_profile = pattern("migProfile");
    check_mig();
    read_word("share", share_words(), policy_.terms.form);
    refuse_what_does_not_fit();
    if (policy_.terms.form == ShareForm::kReplicas) read_replicas();
    if (policy_.terms.form == ShareForm::kMemory) read_memory();
    read_placement();
    read_truth("distinctGpus", policy_.terms.distinct_gpus);
    read_truth("failRequestsGreaterThanOne", policy_.terms.one_share_only);
    read_word("dialect", dialect_words(), policy_.terms.dialect);
    read_word("exposure", exposure_words(), policy_.terms.exposure);
    read_word("enforcement", enforcement_words(), policy_.terms.demanded);
    check_terms();
    if (!good_) return std::nullopt;
    return std::move(policy_);
  }

 private:
  std::string key(std::string_view name) const { return shown_ + "." + std::string(name); }

  void complain(std::string_view name, const std::string& what) {
    problems_.add(key_line(row_, name), key(name), what);
    good_ = false;
  }

  void read_resource() {
    const ConfigNode* node = given_item(row_, "resource");
    if (node == nullptr) {
      problems_.add(row_.line, shown_,
                    "no resource specified (name what the devices are offered as)");
      good_ = false;
      return;
    }
    const auto name = fields_.read_name(*node, key("resource"));
    good_ = good_ && name.has_value();
    if (name) policy_.resource = *name;
  }

  void read_devices() {
    const auto devices = fields_.read_devices(given_item(row_, "devices"), key("devices"));
    good_ = good_ && devices.has_value();
    if (devices) policy_.devices = *devices;
  }

  std::optional<std::string> pattern(std::string_view name) {
    const ConfigNode* node = given_item(row_, name);
    if (node == nullptr || !is_text(*node)) return std::nullopt;
    if (node->text.empty()) complain(name, "is empty and fits nothing; leave it out for any");
    return node->text;
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

  // Keys that say something about another form than the row's.
  void refuse_what_does_not_fit() {
    using enum ShareForm;
    struct Fit {
      std::string_view key;
      std::initializer_list<ShareForm> forms;
    };
    static constexpr std::initializer_list<ShareForm> kOfReplicas = {kReplicas};
    static constexpr std::initializer_list<ShareForm> kOfMemory = {kMemory};
    static constexpr std::initializer_list<ShareForm> kCut = {kReplicas, kMemory};
    static constexpr std::initializer_list<ShareForm> kCounted = {kWhole, kReplicas};
    static constexpr Fit kFits[] = {{"replicas", kOfReplicas},
                                    {"memory", kOfReplicas},
                                    {"unit", kOfMemory},
                                    {"offer", kOfMemory},
                                    {"placement", kCut},
                                    {"distinctGpus", kCounted},
                                    {"failRequestsGreaterThanOne", kCounted}};
    for (const auto& [name, forms] : kFits) {
      if (given_item(row_, name) == nullptr) continue;
      if (std::ranges::find(forms, policy_.terms.form) != forms.end()) continue;
      std::vector<std::string> words;
      for (const ShareForm form : forms) words.push_back(text_of(share_words(), form));
      complain(name, "belongs to share: " + join(words, " or ") +
                         ", and this row has share: " + text_of(share_words(), policy_.terms.form) +
                         "; leave it out, or change share");
    }
  }

  void read_replicas() {
    const ConfigNode* replicas = given_item(row_, "replicas");
    if (replicas == nullptr) {
      problems_.add(row_.line, shown_, "no replicas specified (how often is each device offered?)");
      good_ = false;
    } else {
      const auto count = fields_.read_replicas(*replicas, key("replicas"));
      good_ = good_ && count.has_value();
      policy_.replicas = count.value_or(1);
    }
    const ConfigNode* memory = given_item(row_, "memory");
    if (memory != nullptr && is_text(*memory)) {
      policy_.replica_memory = size("memory", parse_memory_size(memory->text));
    }
  }

  void read_memory() {
    const ConfigNode* unit = given_item(row_, "unit");
    if (unit == nullptr || is_text(*unit)) {
      const std::string text = unit == nullptr ? "GiB" : unit->text;
      if (text != "auto") policy_.unit = size("unit", parse_memory_unit(text));
    }
    read_word("offer", offer_words(), policy_.terms.shown);
  }

  std::optional<std::uint64_t> size(std::string_view name, const Result<std::uint64_t>& read) {
    if (read) return *read;
    complain(name, read.error().message + (name == "unit" ? " (or auto)" : ""));
    return std::nullopt;
  }

  void read_placement() {
    SharePlacement& placement = policy_.terms.placement;
    const bool is_memory = policy_.terms.form == ShareForm::kMemory;
    if (policy_.terms.form == ShareForm::kReplicas) placement = SharePlacement::kSpread;
    if (is_memory) placement = SharePlacement::kPack;
    read_word("placement", placement_words(), placement);
    if (is_memory && placement != SharePlacement::kSpread && placement != SharePlacement::kPack) {
      complain("placement", text_of(placement_words(), placement) +
                                " is for replicas; the units of a container come from one GPU: the "
                                "emptiest (spread) or the fullest that has room (pack)");
    }
  }

  template <typename T>
  void read_word(std::string_view name, std::span<const Word<T>> words, T& target) {
    const ConfigNode* node = given_item(row_, name);
    if (node == nullptr || !is_text(*node)) return;
    if (const auto meaning = meaning_of(words, node->text)) {
      target = *meaning;
    } else {
      complain(name, "unknown " + std::string(name) + ": " + brief(node->text) + " (" +
                         allowed_hint(node->text, texts_of(words)) + ")");
    }
  }

  void read_truth(std::string_view name, bool& target) {
    const ConfigNode* node = given_item(row_, name);
    if (node != nullptr && is_bool(*node)) target = scalar_truth(*node);
  }

  void check_terms() {
    const Terms& terms = policy_.terms;
    if (terms.dialect == Dialect::kGpushare && terms.form != ShareForm::kMemory) {
      complain("dialect", "gpushare tells containers of memory; it needs share: memory");
    }
    if (terms.dialect != Dialect::kNestedHost && given_item(row_, "exposure") != nullptr) {
      complain("exposure", "is for pods that are themselves nodes; it needs dialect: nested-host");
    }
    if (terms.form == ShareForm::kWhole && terms.demanded.value_or(Rung::kNone) != Rung::kNone) {
      complain("enforcement",
               text_of(enforcement_words(), terms.demanded) +
                   " holds containers that share a device, and this row has share: whole; leave it "
                   "out, or use share: replicas with replicas: 1");
    }
  }

  const ConfigNode& row_;
  const std::string shown_;
  FileProblems& problems_;
  RowFields fields_;
  ResourcePolicy policy_;
  bool good_ = true;
};

// What two rows of one resource must agree on, and do not: the first key that
// tells them apart. The kubelet sees one resource, so its shares must be alike.
std::optional<std::string_view> disagreement(const ResourcePolicy& one,
                                             const ResourcePolicy& other) {
  const Terms& a = one.terms;
  const Terms& b = other.terms;
  if (a.form != b.form) return "share";
  if (one.unit != other.unit) return "unit";
  if (a.shown != b.shown) return "offer";
  if (a.placement != b.placement) return "placement";
  if (a.distinct_gpus != b.distinct_gpus) return "distinctGpus";
  if (a.one_share_only != b.one_share_only) return "failRequestsGreaterThanOne";
  if (a.dialect != b.dialect) return "dialect";
  if (a.exposure != b.exposure) return "exposure";
  if (a.demanded != b.demanded) return "enforcement";
  return std::nullopt;
}

class PolicyRows {
 public:
  explicit PolicyRows(FileProblems& problems) : problems_(problems) {}

  PolicySection read(const ConfigNode& rows) {
    for (std::size_t i = 0; i < rows.items.size(); ++i) {
      const ConfigNode& row = rows.items[i];
      if (row.kind != NodeKind::kMap) continue;
      const std::string shown = row_name("tranche.policies", i);
      const auto policy = PolicyRow(row, shown, problems_).read();
      if (!policy) continue;
      compare(*policy, row.line, shown);
      section_.rows.push_back(*policy);
      section_.lines.push_back(row.line);
    }
    return std::move(section_);
  }

 private:
  void compare(const ResourcePolicy& policy, unsigned line, const std::string& shown) {
    const auto [first, is_new] = first_.emplace(policy.resource, section_.rows.size());
    if (!is_new) {
      if (const auto key = disagreement(section_.rows[first->second], policy)) {
        problems_.add(line, shown,
                      policy.resource.text + " has another " + std::string(*key) +
                          " in the row on line " + std::to_string(section_.lines[first->second]) +
                          "; one resource has the same terms in all rows: say the same, or give "
                          "it another name");
        return;
      }
    }
    const std::string kind = policy.resource.text + "\n" + policy.model.value_or("") + "\n" +
                             policy.mig_profile.value_or("");
    if (const auto other = overlap_.add(kind, policy.devices, line)) {
      problems_.add(line, shown,
                    "selects devices for " + policy.resource.text + " that the row on line " +
                        std::to_string(*other) + " selects too");
    }
  }

  FileProblems& problems_;
  PolicySection section_;
  std::map<ResourceName, std::size_t> first_;  // row of each resource
  RowOverlap overlap_;
};

}  // namespace

PolicySection read_policies(const ConfigNode& own, FileProblems& problems) {
  const ConfigNode* rows = given_item(own, "policies");
  if (rows == nullptr || rows->kind != NodeKind::kList) return {};
  if (rows->items.empty()) {
    problems.add(key_line(own, "policies"), "tranche.policies",
                 "an empty list offers nothing by itself; leave it out, or add a row");
  }
  return PolicyRows(problems).read(*rows);
}

}  // namespace tranche
