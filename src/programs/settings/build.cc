// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/build.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "programs/settings/cluster_words.h"
#include "programs/settings/device_words.h"
#include "programs/settings/mps_settings.h"
#include "programs/settings/profile.h"

namespace tranche::programs {
namespace {

constexpr std::string_view kDefaultContainerPath = "/usr/local/nvidia";
constexpr std::string_view kDefaultVulkanPath = "/etc/vulkan/icd.d";
// The name of Google's lock, so that their plugin and ours wait for each other.
constexpr std::string_view kLockName = "tpu-device-plugin.lock";
// A unix address has 108 bytes, including a final NUL.
constexpr std::size_t kMostSocketPath = 107;
// glog's verbosity from which on debug messages are logged.
constexpr unsigned kDebugVerbosity = 4;

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class Builder {
 public:
  explicit Builder(Resolved& resolved) : from_(resolved) {}

  Built build(const SharingSections& sharing) {
    complete_paths();
    place_socket();
    complete_mps(from_);
    from_.fill(built_.settings);
    build_agent();
    build_driver();
    build_mps();
    build_sharing(sharing);
    build_policies(sharing);
    build_grant();
    build_cdi();
    build_health();
    build_cluster();
    build_named_configs();
    note_missed();
    return std::move(built_);
  }

 private:
  void complain(std::string_view title, const std::string& what) {
    built_.problems.push_back(fmt::format("{}: {}", where(from_.at(title)), what));
  }

  // An empty path means the default. Exceptions: the kubelet's socket can be empty on purpose, and
  // these two roots then mean "/", as in NVIDIA's plugin.
  void complete_paths() {
    for (const char* root : {"driver-root", "driver-root-ctr-path"}) {
      if (from_.text(root).empty()) from_.replace(root, std::string("/"), "empty");
    }
    for (const char* path : {"nvidia-cdi-hook-path", "cdi-dir", "host-root", "mps-dir",
                             "host-grants", "gpu-env", "output-file", "machine-type-file"}) {
      if (!from_.text(path).empty()) continue;
      from_.replace(path, default_value(*from_.at(path).flag), "empty");
    }
    if (from_.text("dev-root").empty()) {
      from_.replace("dev-root", from_.text("driver-root"), "the driver root");
    }
    if (!from_.text("host-path").empty() && from_.text("container-path").empty()) {
      from_.replace("container-path", std::string(kDefaultContainerPath), "with --host-path");
    }
    if (!from_.text("host-vulkan-icd-path").empty() &&
        from_.text("container-vulkan-icd-path").empty()) {
      from_.replace("container-vulkan-icd-path", std::string(kDefaultVulkanPath),
                    "with --host-vulkan-icd-path");
    }
  }

  // The kubelet's socket, by path or folder, and the files beside it.
  void place_socket() {
    const Setting& directory = from_.at("plugin-directory");
    const Setting& socket = from_.at("kubelet-socket");
    const std::string folder = from_.text("plugin-directory");
    if (const std::string in_folder = below(folder, "kubelet.sock");
        !folder.empty() && from_.text("kubelet-socket") != in_folder) {
      if (!socket.is_given()) {
        from_.replace("kubelet-socket", in_folder, "in --plugin-directory");
      } else if (directory.is_given()) {
        complain("plugin-directory",
                 fmt::format("the kubelet's socket would be {}, but {} names another; leave one of "
                             "them out",
                             in_folder, where(socket)));
      }
    }
    const std::string& chosen = from_.text("kubelet-socket");
    const std::string place = parent_of(chosen.empty() ? KubeletOptions{}.socket : chosen);
    if (place != folder) from_.replace("plugin-directory", place, "of the kubelet socket");
    if (from_.text("state-dir").empty()) {
      from_.replace("state-dir", below(place, "tranche"), "beside the kubelet socket");
    }
    if (from_.text("nested-dir").empty()) {
      from_.replace("nested-dir", below(from_.text("state-dir"), "nested"), "in the state folder");
    }
    if (!from_.at("kubelet-checkpoint").is_given()) {
      from_.replace("kubelet-checkpoint", below(place, "kubelet_internal_checkpoint"),
                    "beside the kubelet socket");
    }
  }

  void build_agent() {
    Settings& settings = built_.settings;
    if (from_.truth("enable-flock-wait")) {
      settings.instance_lock = below(from_.text("plugin-directory"), kLockName);
    }
    const auto* verbosity = std::get_if<unsigned>(&from_.at("v").value);
    settings.log_level =
        verbosity != nullptr && *verbosity >= kDebugVerbosity ? LogLevel::kDebug : LogLevel::kInfo;
    for (const char* socket : {"kubelet-socket", "pod-resources-socket"}) {
      if (from_.text(socket).size() <= kMostSocketPath) continue;
      complain(socket, "longer than the 107 bytes that a socket's path can have");
    }
  }

  void build_driver() {
    const std::string& discovery = from_.text("device-discovery-strategy");
    if (discovery == "tegra" || discovery == "wsl") {
      complain("device-discovery-strategy",
               fmt::format("this version does not serve {} devices, only those of the driver's "
                           "management library; use auto or nvml",
                           discovery == "tegra" ? "Tegra" : "WSL"));
    }
  }

  void build_sharing(const SharingSections& sections) {
    SharingPolicy& policy = built_.settings.sharing;
    if (from_.text("profile") == "nested-host") {
      policy.usual_dialect = Dialect::kNestedHost;
      policy.usual_exposure = profile_exposure(from_);
    }
    policy.gpu_names = sections.gpu_names.rows;
    policy.mig_names = sections.mig_names.rows;
    policy.replications = sections.replicated.rows;
    policy.replicas_use_mps = sections.replicated.kind == ReplicaKind::kMps;
    policy.fail_requests_greater_than_one = sections.replicated.fail_requests_greater_than_one;
    build_exclusions(policy);
  }

  void build_mps() {
    const MpsFindings made = build_mps_options(from_, built_.settings.mps);
    append(built_.notices, made.notices);
    append(built_.problems, made.problems);
  }

  // The file's policies, else the profile's.
  void build_policies(const SharingSections& sections) {
    SharingPolicy& policy = built_.settings.sharing;
    policy.policies = sections.policies.rows;
    ProfileOffer offer = profile_offer(from_, !policy.policies.empty());
    append(built_.notices, offer.notices);
    append(built_.problems, offer.problems);
    if (!offer.policy) return;
    const ResourceName& name = offer.policy->resource;
    const auto same = std::ranges::find(policy.replications, name, &offered_as);
    if (same != policy.replications.end()) {
      complain(
          "profile",
          fmt::format("the profile {} offers {}, and {} does too; rename that, or put all into "
                      "tranche.policies",
                      from_.text("profile"), name.text, section_path(sections.replicated.kind)));
    }
    policy.policies.push_back(*std::move(offer.policy));
    built_.profile_origin = std::move(offer.origin);
  }

  // Flags that are accepted for compatibility with manifests, but have no effect.
  void note_missed() {
    for (const Setting& setting : from_.all()) {
      if (setting.flag->missed.empty() || !setting.is_given()) continue;
      const std::string value = show(setting.value);
      if (value.empty() || value == "false") continue;
      built_.notices.push_back(
          fmt::format("{}: without effect: {}", where(setting), setting.flag->missed));
    }
  }

  void build_exclusions(SharingPolicy& policy) {
    std::set<std::string> seen;
    for (const std::string& word : from_.list("exclude-devices")) {
      const Result<Exclusion> exclusion = parse_exclusion(word);
      if (!exclusion) return complain("exclude-devices", exclusion.error().message);
      if (seen.insert(to_text(*exclusion)).second) policy.excluded.push_back(*exclusion);
    }
  }

  void build_grant() {
    GrantOptions& grant = built_.settings.grant;
    const auto lists = [&](std::string_view strategy) {
      const auto& list = from_.list("device-list-strategy");
      return std::ranges::find(list, strategy) != list.end();
    };
    grant.list = {.envvar = lists("envvar"),
                  .volume_mounts = lists("volume-mounts"),
                  .cdi_annotations = lists("cdi-annotations"),
                  .cdi_cri = lists("cdi-cri")};
    build_imex(grant);
    build_driver_mount(grant);
  }

  void build_imex(GrantOptions& grant) {
    const std::vector<std::string>& ids = from_.list("imex-channel-ids");
    const bool only_zero = ids.size() == 1 && parse_number<unsigned>(ids[0]) == 0U;
    if (only_zero) grant.imex_channels = {0};
    if (only_zero || ids.empty()) return;
    complain("imex-channel-ids",
             fmt::format("invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or "
                         "[0]; found [{}]",
                         brief(join(ids, " "))));
  }

  void build_driver_mount(GrantOptions& grant) {
    grant.driver_mount = mount_of("host-path", "container-path");
    grant.vulkan_mount = mount_of("host-vulkan-icd-path", "container-vulkan-icd-path");
  }

  std::optional<DriverMount> mount_of(const std::string& host_flag,
                                      const std::string& container_flag) {
    const std::string& host = from_.text(host_flag);
    const std::string& container = from_.text(container_flag);
    if (!host.empty()) return DriverMount{host, container};
    if (!container.empty()) {
      complain(
          container_flag,
          fmt::format("is given without --{}, the folder on the host that it is for; give both",
                      host_flag));
    }
    return std::nullopt;
  }

  void build_cdi() {
    CdiOptions& cdi = built_.settings.cdi;
    if (const std::string& version = from_.text("cdi-toolkit-version"); version != "auto") {
      cdi.toolkit = parse_toolkit_version(version);
      if (!cdi.toolkit) complain("cdi-toolkit-version", "neither auto nor a version as 1.18.2");
    }
  }

  void build_health() {
    HealthOptions& health = built_.settings.health;
    const Setting& google = from_.at("XID_CONFIG");
    const bool is_google = from_.text("profile") == "gcp";
    const ParsedXids parsed =
        parse_xid_policy({.disable = from_.text("DP_DISABLE_HEALTHCHECKS"),
                          .enable = from_.text("DP_ENABLE_HEALTHCHECKS"),
                          .google_critical = is_google ? from_.text("XID_CONFIG") : std::string()});
    health.xids = parsed.policy;
    append(built_.warnings, parsed.warnings);
    if (!is_google && !from_.text("XID_CONFIG").empty()) {
      built_.notices.push_back(
          fmt::format("{}: without effect: a variable of Google's plugin, for --profile=gcp; "
                      "DP_ENABLE_HEALTHCHECKS does the same",
                      where(google)));
    }
  }

  void build_cluster() {
    std::set<std::string> names;
    for (const std::string& word : from_.list("extended-resources")) {
      Result<ExtendedResource> resource = parse_extended_resource(word);
      if (!resource) return complain("extended-resources", resource.error().message);
      if (!names.insert(resource->name).second) {
        return complain("extended-resources", resource->name + " is given twice");
      }
      built_.settings.cluster.extended_resources.push_back(*std::move(resource));
    }
    if (const std::string& type = from_.text("node-condition"); !is_condition_type(type)) {
      complain("node-condition", fmt::format("'{}' is not a condition type, such as GpusHealthy or "
                                             "example.com/GpusHealthy",
                                             brief(type)));
    }
  }

  void build_named_configs() {
    NamedConfigOptions& configs = built_.settings.named_configs;
    for (const std::string& word : from_.list("fallback-strategies")) {
      if (const auto strategy = meaning_of(kConfigFallbacks, word)) {
        configs.fallbacks.push_back(*strategy);
      }
    }
    if (configs.folder.empty()) return note_without_folder();
    const Setting& file = from_.at("config-file");
    if (file.is_given() && !from_.text("config-file").empty()) {
      complain("config-dir",
               fmt::format("has several configurations, one of which the node's label chooses, but "
                           "{} names one file; leave one of them out",
                           where(file)));
    }
    if (configs.label.empty()) complain("config-label", "must not be empty with --config-dir");
  }

  void note_without_folder() {
    for (const char* flag : {"config-label", "default-config", "fallback-strategies"}) {
      const Setting& setting = from_.at(flag);
      if (!setting.is_given() || show(setting.value).empty()) continue;
      built_.notices.push_back(
          fmt::format("{}: without effect: there is no --config-dir", where(setting)));
    }
  }

  Resolved& from_;
  Built built_;
};

}  // namespace

Built build_settings(Resolved& resolved, const SharingSections& sharing) {
  return Builder(resolved).build(sharing);
}

}  // namespace tranche::programs
