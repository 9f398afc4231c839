// SPDX-License-Identifier: Apache-2.0
#include "formats/checkpoint.h"

#include <absl/strings/escaping.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/path.h"
#include "deviceplugin_v1beta1.pb.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::json;

// The kubelet's file has six levels.
constexpr std::size_t kDeepest = 32;

// Parses the file as a stream. Most of it is of no use to us (the list of all devices, the
// plugins' answers), and a tree of it would take many times the memory of the result.
//
//   {"Data": {"PodDeviceEntries": [{"PodUID": …, "DeviceIDs": {"0": ["id", …]}}]}}
//   level 1   2                   3 4                         5      6
//
// Kubernetes before 1.20 had "DeviceIDs": ["id", …].
class CheckpointReader : public nlohmann::json_sax<Json> {
 public:
  // `wants_answers`: also collects the plugins' answers.
  CheckpointReader(const std::set<std::string>& resources, bool wants_answers)
      : resources_(resources), wants_answers_(wants_answers) {}

  // The plugins' answers in base64; valid only after a result without an error.
  const std::vector<std::string>& answers() const { return answers_; }

  Result<std::vector<Holding>> result() {
    if (!problem_.empty()) return Error{ErrorCode::kInvalidArgument, problem_};
    if (!has_entries_) {
      return Error{ErrorCode::kInvalidArgument, "it has no list Data.PodDeviceEntries"};
    }
    std::ranges::sort(holdings_);
    return std::move(holdings_);
  }

  bool null() override {
    // Go writes null for an empty list.
    if (is_at_entries()) has_entries_ = true;
    return true;
  }
  bool boolean(bool /*value*/) override { return other_value(); }
  bool number_integer(std::int64_t /*value*/) override { return other_value(); }
  bool number_unsigned(std::uint64_t /*value*/) override { return other_value(); }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return other_value();
  }
  bool binary(Json::binary_t& /*value*/) override { return other_value(); }

  bool string(std::string& value) override {
    if (!is_in_entry()) return other_value();
    if (path_.size() > 4) {
      if (is_at_id()) entry_.shares.push_back(std::move(value));
      return true;
    }
    const std::string& key = path_.back();
    if (key == "DeviceIDs") return wrong("DeviceIDs is not a list");
    if (key == "AllocResp" && wants_answers_) {
      answers_.push_back(std::move(value));
    } else if (std::string* field = field_of(key)) {
      *field = std::move(value);
    }
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    if (is_at_entries()) return wrong("PodDeviceEntries is not a list");
    if (is_at_entry()) entry_ = {};
    return enter("");
  }
  bool key(std::string& name) override {
    path_.back() = std::move(name);
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    return !is_at_entry() || end_entry();
  }
  bool start_array(std::size_t /*size*/) override {
    if (is_at_entry()) return wrong("an entry is not an object");
    if (is_at_entries()) has_entries_ = true;
    return enter(kList);
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*problem*/) override {
    return wrong(fmt::format("it is not JSON from byte {} on", position));
  }

 private:
  // Marks a list in the path; no key of an object is empty here.
  static constexpr const char* kList = "[]";

  bool is_at_entries() const {
    return path_.size() == 2 && path_[0] == "Data" && path_[1] == "PodDeviceEntries";
  }
  bool is_at_entry() const {
    return path_.size() == 3 && path_[0] == "Data" && path_[1] == "PodDeviceEntries" &&
           path_[2] == kList;
  }
  bool is_in_entry() const {
    return path_.size() >= 4 && path_[0] == "Data" && path_[1] == "PodDeviceEntries" &&
           path_[2] == kList;
  }
  bool is_at_id() const {
    if (path_[3] != "DeviceIDs" || path_.back() != kList) return false;
    return path_.size() == 5 || path_.size() == 6;
  }

  std::string* field_of(const std::string& key) {
    if (key == "PodUID") return &entry_.holder.pod_uid;
    if (key == "ContainerName") return &entry_.holder.container;
    if (key == "ResourceName") return &entry_.resource;
    return nullptr;
  }

  // A value that is neither text nor a list: wrong only in fields that we read.
  bool other_value() {
    if (is_at_entries()) return wrong("PodDeviceEntries is not a list");
    if (is_at_entry()) return wrong("an entry is not an object");
    if (!is_in_entry()) return true;
    const std::string& key = path_[3];
    const bool is_ours = key == "DeviceIDs" || field_of(key) != nullptr;
    return !is_ours || wrong(key + " is not what it should be");
  }

  bool enter(const char* level) {
    if (path_.size() >= kDeepest) return wrong("it is nested too deeply");
    path_.emplace_back(level);
    return true;
  }

  bool end_entry() {
    if (entry_.resource.empty() || entry_.holder.pod_uid.empty() ||
        entry_.holder.container.empty()) {
      return wrong("an entry lacks PodUID, ContainerName or ResourceName");
    }
    if (!resources_.empty() && !resources_.contains(entry_.resource)) return true;
    std::ranges::sort(entry_.shares);
    // A device on two NUMA nodes is under each of them.
    entry_.shares.erase(std::unique(entry_.shares.begin(), entry_.shares.end()),
                        entry_.shares.end());
    if (!entry_.shares.empty()) holdings_.push_back(std::move(entry_));
    return true;
  }

  bool wrong(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;  // ends the reading
  }

  const std::set<std::string>& resources_;
  const bool wants_answers_;
  std::vector<std::string> answers_;
  std::vector<std::string> path_;  // the key in each open object, kList in each open list
  Holding entry_;
  bool has_entries_ = false;
  std::string problem_;
  std::vector<Holding> holdings_;
};

Result<std::vector<Holding>> read_with(CheckpointReader& reader, std::string_view text) {
  try {
    Json::sax_parse(text.begin(), text.end(), &reader);
  } catch (const nlohmann::json::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
  return reader.result();
}

}  // namespace

Result<std::vector<Holding>> parse_checkpoint(std::string_view text,
                                              const std::set<std::string>& resources) {
  CheckpointReader reader(resources, false);
  return read_with(reader, text);
}

Result<std::set<std::string>> parse_checkpoint_mounts(std::string_view text,
                                                      const std::string& folder) {
  const std::set<std::string> all;
  CheckpointReader reader(all, true);
  if (const auto read = read_with(reader, text); !read) return read.error();
  const std::string prefix = below(folder, "");  // ends in one slash
  std::set<std::string> mounts;
  for (const std::string& answer : reader.answers()) {
    std::string bytes;
    v1beta1::ContainerAllocateResponse response;
    if (!absl::Base64Unescape(answer, &bytes) || !response.ParseFromString(bytes)) {
      return Error{ErrorCode::kInvalidArgument, "the answer in an entry is not a plugin's"};
    }
    for (const auto& mount : response.mounts()) {
      if (mount.host_path().starts_with(prefix)) mounts.insert(mount.host_path());
    }
  }
  return mounts;
}

}  // namespace tranche::formats
