// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/node_warnings.h"

#include <fmt/core.h>

#include <algorithm>

namespace tranche::programs {
namespace {

// Whether the note has the name as a whole: "a.b/x" is not in "a.b/x-2: …".
bool has_name(const std::string& note, const std::string& name) {
  for (std::size_t at = note.find(name); at != note.npos; at = note.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at > 0 && (note[at - 1] == ' ' || note[at - 1] == '\'');
    const bool ends = end == note.size() || std::string_view(": ,'").find(note[end]) != note.npos;
    if (begins && ends) return true;
  }
  return false;
}

// A section whose rows notes name.
struct Section {
  std::string begin;               // of the note
  std::string key;                 // of the rows: "tranche.policies", followed by "[0]"
  std::vector<std::string> names;  // what a note has of each row
};

std::vector<Section> sections_of(const SharingPolicy& sharing) {
  const std::string replicas = sharing.replicas_use_mps ? "sharing.mps" : "sharing.timeSlicing";
  std::vector<Section> sections{{"tranche.policies: ", "tranche.policies", {}},
                                {replicas + " ", replicas + ".resources", {}},
                                {"resources.gpus: ", "resources.gpus", {}},
                                {"resources.mig: ", "resources.mig", {}}};
  for (const ResourcePolicy& row : sharing.policies) {
    sections[0].names.push_back(row.resource.text);
  }
  for (const Replication& row : sharing.replications) {
    sections[1].names.push_back(row.resource.text);
  }
  for (const NameRule& row : sharing.gpu_names) sections[2].names.push_back(row.pattern);
  for (const NameRule& row : sharing.mig_names) sections[3].names.push_back(row.pattern);
  return sections;
}

// The key in the file of what a note is about; empty: not known, or several rows.
std::string key_of(const std::string& note, const std::vector<Section>& sections) {
  if (note.starts_with("tranche.excludeDevices: ")) return "tranche.excludeDevices";
  const auto section = std::ranges::find_if(
      sections, [&](const Section& one) { return note.starts_with(one.begin); });
  if (section == sections.end()) return {};
  const auto is_named = [&](const std::string& name) { return has_name(note, name); };
  if (std::ranges::count_if(section->names, is_named) != 1) return {};
  const auto row = std::ranges::find_if(section->names, is_named) - section->names.begin();
  return fmt::format("{}[{}]", section->key, row);
}

}  // namespace

std::vector<std::string> node_warnings(const Loaded& loaded,
                                       const std::vector<std::string>& notes) {
  const std::vector<Section> sections = sections_of(loaded.settings.sharing);
  std::vector<std::string> warnings;
  for (const std::string& note : notes) {
    const std::string key = key_of(note, sections);
    const bool is_said = !key.empty() && std::ranges::any_of(loaded.warnings, [&](const auto& one) {
      return one.find(key + ".name: ") != std::string::npos;
    });
    if (is_said) continue;
    const auto setting = std::ranges::find_if(loaded.provenance, [&](const Provenance& one) {
      return !key.empty() && one.key == key && one.origin.kind == OriginKind::kFile;
    });
    warnings.push_back(setting == loaded.provenance.end() ? note
                                                          : setting->origin.text + ": " + note);
  }
  return warnings;
}

}  // namespace tranche::programs
