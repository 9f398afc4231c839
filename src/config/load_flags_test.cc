// SPDX-License-Identifier: Apache-2.0
//
// Every setting by every way of giving it. The expectations are written out
// here and not taken from the flag table: names, defaults and meanings are what
// people's manifests rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "config/flag_table.h"
#include "config/load.h"
#include "config/testing/loading.h"

namespace tranche {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using namespace tranche::testing;

struct Row {
  std::vector<std::string> names;  // the flag and its aliases
  std::vector<std::string> variables;
  std::string key;
  std::string fallback;                   // what is in effect when nothing is given
  std::string sample;                     // another value, as on the command line
  std::string other;                      // a third one, or the default
  std::string in_file;                    // the sample, as in the file
  std::string wrong;                      // what must be refused
  std::function<void(Settings&)> expect;  // what the sample changes
};

void nothing(Settings&) {}

const Row kAllRows[] = {
    {{"mig-strategy"},
     {"MIG_STRATEGY"},
     "flags.migStrategy",
     "none",
     "mixed",
     "single",
     "mixed",
     "mixd",
     [](Settings& s) { s.sharing.mig = MigStrategy::kMixed; }},
    {{"fail-on-init-error"},
     {"FAIL_ON_INIT_ERROR"},
     "flags.failOnInitError",
     "true",
     "false",
     "true",
     "false",
     "maybe",
     [](Settings& s) { s.fail_on_init_error = false; }},
    {{"driver-root", "nvidia-driver-root"},
     {"NVIDIA_DRIVER_ROOT"},
     "flags.nvidiaDriverRoot",
     "/",
     "/run/nvidia/driver",
     "/x",
     "/run/nvidia/driver",
     "run",
     [](Settings& s) {
       s.cdi.driver_root = "/run/nvidia/driver";
       s.cdi.dev_root = "/run/nvidia/driver";
       s.grant.dev_root = "/run/nvidia/driver";
     }},
    {{"dev-root", "nvidia-dev-root"},
     {"NVIDIA_DEV_ROOT"},
     "flags.nvidiaDevRoot",
     "/",
     "/devs",
     "/x",
     "/devs",
     "devs",
     [](Settings& s) {
       s.cdi.dev_root = "/devs";
       s.grant.dev_root = "/devs";
     }},
    {{"pass-device-specs"},
     {"PASS_DEVICE_SPECS"},
     "flags.plugin.passDeviceSpecs",
     "false",
     "true",
     "false",
     "true",
     "2",
     [](Settings& s) { s.grant.pass_device_specs = true; }},
    {{"device-list-strategy"},
     {"DEVICE_LIST_STRATEGY"},
     "flags.plugin.deviceListStrategy",
     "envvar",
     "volume-mounts,cdi-cri",
     "cdi-annotations",
     "[volume-mounts, cdi-cri]",
     "env",
     [](Settings& s) { s.grant.list = {.volume_mounts = true, .cdi_cri = true}; }},
    {{"device-id-strategy"},
     {"DEVICE_ID_STRATEGY"},
     "flags.plugin.deviceIDStrategy",
     "uuid",
     "index",
     "uuid",
     "index",
     "name",
     [](Settings& s) { s.grant.ids = DeviceIdStrategy::kIndex; }},
    {{"gdrcopy-enabled"},
     {"GDRCOPY_ENABLED"},
     "flags.gdrcopyEnabled",
     "false",
     "true",
     "false",
     "true",
     "x",
     [](Settings& s) { s.grant.gdrcopy = true; }},
    {{"gds-enabled"},
     {"GDS_ENABLED"},
     "flags.gdsEnabled",
     "false",
     "true",
     "false",
     "true",
     "x",
     [](Settings& s) { s.grant.gds = true; }},
    {{"mofed-enabled"},
     {"MOFED_ENABLED"},
     "flags.mofedEnabled",
     "false",
     "true",
     "false",
     "true",
     "x",
     [](Settings& s) { s.grant.mofed = true; }},
    {{"cdi-annotation-prefix"},
     {"CDI_ANNOTATION_PREFIX"},
     "flags.plugin.cdiAnnotationPrefix",
     "cdi.k8s.io/",
     "example.com/",
     "a/",
     "example.com/",
     "a\x01",
     [](Settings& s) { s.grant.cdi_annotation_prefix = "example.com/"; }},
    {{"nvidia-cdi-hook-path", "nvidia-ctk-path"},
     {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
     "flags.plugin.nvidiaCTKPath",
     "/usr/bin/nvidia-ctk",
     "/opt/hook",
     "/x",
     "/opt/hook",
     "hook",
     [](Settings& s) { s.cdi.hook_path = "/opt/hook"; }},
    {{"driver-root-ctr-path", "container-driver-root"},
     {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
     "flags.plugin.containerDriverRoot",
     "/driver-root",
     "/host-driver",
     "/x",
     "/host-driver",
     "driver",
     [](Settings& s) {
       s.driver.container_root = "/host-driver";
       s.cdi.container_driver_root = "/host-driver";
     }},
    {{"mps-root"},
     {"MPS_ROOT"},
     "flags.mpsRoot",
     "",
     "/run/nvidia/mps",
     "/x",
     "/run/nvidia/mps",
     "mps",
     [](Settings& s) {
       s.mps.daemons = MpsDaemons::kNvidia;
       s.mps.nvidia_root = "/run/nvidia/mps";
     }},
    {{"mps"}, {"MPS"}, "", "false", "true", "false", "", "x", nothing},
    {{"mps-pipe"},
     {"MPS_PIPE"},
     "tranche.mps.pipe",
     "",
     "/root/nvidia-mps",
     "/x",
     "/root/nvidia-mps",
     "mps",
     [](Settings& s) {
       s.mps.daemons = MpsDaemons::kOutside;
       s.mps.pipe = "/root/nvidia-mps";
     }},
    {{"mps-daemons"},
     {"MPS_DAEMONS"},
     "tranche.mps.daemons",
     "per-gpu",
     "per-node",
     "per-gpu",
     "per-node",
     "each",
     [](Settings& s) { s.mps.daemons = MpsDaemons::kPerNode; }},
    {{"mps-dir"},
     {"MPS_DIR"},
     "tranche.mps.directory",
     "/run/tranche/mps",
     "/run/m",
     "/x",
     "/run/m",
     "run",
     [](Settings& s) { s.mps.directory = "/run/m"; }},
    {{"nested-exposure"},
     {"NESTED_EXPOSURE"},
     "tranche.nested.exposure",
     "envvar",
     "granted",
     "all",
     "granted",
     "some",
     nothing},
    {{"nested-dir"},
     {"NESTED_DIR"},
     "tranche.nested.directory",
     "/var/lib/kubelet/device-plugins/tranche/nested",
     "/var/lib/n",
     "/x",
     "/var/lib/n",
     "n",
     [](Settings& s) { s.nested.directory = "/var/lib/n"; }},
    {{"nested-guest"},
     {"NESTED_GUEST"},
     "tranche.nested.guest",
     "false",
     "true",
     "false",
     "true",
     "perhaps",
     [](Settings& s) { s.nested.guest = true; }},
    {{"host-grants"},
     {"HOST_GRANTS"},
     "tranche.nested.hostGrants",
     "/gpu-grants",
     "/g",
     "/x",
     "/g",
     "g",
     [](Settings& s) { s.nested.host_grants = "/g"; }},
    {{"gpu-env"},
     {"GPU_ENV"},
     "tranche.nested.gpuEnv",
     "/gpu.env",
     "/e",
     "/x",
     "/e",
     "e",
     [](Settings& s) { s.nested.gpu_env = "/e"; }},
    {{"mps-shared-memory"},
     {"MPS_SHARED_MEMORY"},
     "tranche.mps.sharedMemory",
     "false",
     "true",
     "false",
     "true",
     "x",
     [](Settings& s) { s.mps.shared_memory = true; }},
    {{"profile"},
     {"PROFILE"},
     "tranche.profile",
     "nvidia",
     "gpushare",
     "nvidia",
     "gpushare",
     "amd",
     [](Settings& s) {
       s.fail_on_init_error = false;
       s.sharing.policies = {{.resource = ResourceName("aliyun.com/gpu-mem"),
                              .terms = {.form = ShareForm::kMemory,
                                        .placement = SharePlacement::kPack,
                                        .dialect = Dialect::kGpushare},
                              .unit = 1ULL << 30U}};
     }},
    {{"gpu-duplication-factor"},
     {"GPU_DUPLICATION_FACTOR", "DP_NUMBER_CONTAINERS_PER_GPU"},
     "",
     "100",
     "7",
     "9",
     "",
     "x",
     [](Settings& s) {
       s.sharing.policies = {
           {.resource = ResourceName("deepomatic.com/shared-gpu"),
            .terms = {.form = ShareForm::kReplicas, .placement = SharePlacement::kSpread},
            .replicas = 7}};
     }},
    {{"memory-unit"}, {"MEMORY_UNIT"}, "", "GiB", "MiB", "auto", "", "GB", nothing},
    {{"shared-devices-allocation-policy"},
     {"SHARED_DEVICES_ALLOCATION_POLICY"},
     "flags.plugin.sharedDevicesAllocationPolicy",
     "distributed",
     "packed",
     "distributed",
     "packed",
     "spread",
     [](Settings& s) { s.sharing.replica_placement = SharePlacement::kPacked; }},
    {{"device-discovery-strategy"},
     {"DEVICE_DISCOVERY_STRATEGY"},
     "flags.deviceDiscoveryStrategy",
     "auto",
     "nvml",
     "auto",
     "nvml",
     "vfio",
     nothing},
    {{"imex-channel-ids"},
     {"IMEX_CHANNEL_IDS"},
     "imex.channelIDs",
     "",
     "0",
     "0",
     "[0]",
     "1",
     [](Settings& s) { s.grant.imex_channels = {0}; }},
    {{"imex-required"},
     {"IMEX_REQUIRED"},
     "imex.required",
     "false",
     "true",
     "false",
     "true",
     "x",
     [](Settings& s) { s.grant.imex_required = true; }},
    {{"kubelet-socket"},
     {"KUBELET_SOCKET"},
     "",
     "/var/lib/kubelet/device-plugins/kubelet.sock",
     "/k/kubelet.sock",
     "/x/k.sock",
     "",
     "k.sock",
     [](Settings& s) {
       s.kubelet.socket = "/k/kubelet.sock";
       s.kubelet.checkpoint = "/k/kubelet_internal_checkpoint";
       s.state_dir = "/k/tranche";
       s.nested.directory = "/k/tranche/nested";
     }},
    {{"plugin-directory"},
     {"PLUGIN_DIRECTORY"},
     "",
     "/var/lib/kubelet/device-plugins",
     "/device-plugin",
     "/x",
     "",
     "device-plugin",
     [](Settings& s) {
       s.kubelet.socket = "/device-plugin/kubelet.sock";
       s.kubelet.checkpoint = "/device-plugin/kubelet_internal_checkpoint";
       s.state_dir = "/device-plugin/tranche";
       s.nested.directory = "/device-plugin/tranche/nested";
     }},
    {{"pod-resources-socket"},
     {"POD_RESOURCES_SOCKET"},
     "",
     "/var/lib/kubelet/pod-resources/kubelet.sock",
     "/p/kubelet.sock",
     "/x",
     "",
     "p.sock",
     [](Settings& s) { s.kubelet.pod_resources_socket = "/p/kubelet.sock"; }},
    {{"kubelet-checkpoint"},
     {"KUBELET_CHECKPOINT"},
     "",
     "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
     "/c/checkpoint",
     "/x",
     "",
     "c",
     [](Settings& s) { s.kubelet.checkpoint = "/c/checkpoint"; }},
    {{"config-file"},
     {"CONFIG_FILE"},
     "",
     "",
     "a.yaml",
     "b.yaml",
     "",
     "a\nb",
     [](Settings& s) { s.config_file = "a.yaml"; }},
    {{"cdi-feature-flags"},
     {"CDI_FEATURE_FLAGS"},
     "",
     "",
     "disable-nvsandboxutils,disable-ipc-discoverer",
     "enable-coherent-annotations",
     "",
     "all",
     [](Settings& s) {
       s.cdi.feature_flags = {"disable-nvsandboxutils", "disable-ipc-discoverer"};
     }},
    {{"cdi-disable-hooks"},
     {"CDI_DISABLE_HOOKS"},
     "",
     "",
     "all",
     "chmod,update-ldcache",
     "",
     "nohook",
     [](Settings& s) { s.cdi.disabled_hooks = {"all"}; }},
    {{},
     {"DP_DISABLE_HEALTHCHECKS"},
     "",
     "",
     "79",
     "all",
     "",
     "some",
     [](Settings& s) { s.health.xids.ignored.insert(79); }},
    {{},
     {"DP_ENABLE_HEALTHCHECKS"},
     "",
     "",
     "13",
     "all",
     "",
     "some",
     [](Settings& s) { s.health.xids.counted.insert(13); }},
    {{"exclude-devices"},
     {"EXCLUDE_DEVICES"},
     "tranche.excludeDevices",
     "",
     "0,*T4*",
     "1",
     "[0, \"*T4*\"]",
     "T4",
     [](Settings& s) { s.sharing.excluded = {GpuIndex{0}, ModelPattern{"*T4*"}}; }},
    {{"host-path"},
     {"HOST_PATH"},
     "tranche.hostPath",
     "",
     "/home/nvidia",
     "/x",
     "/home/nvidia",
     "home",
     [](Settings& s) { s.grant.driver_mount = {{"/home/nvidia", "/usr/local/nvidia"}}; }},
    {{"health-check-interval"},
     {"HEALTH_CHECK_INTERVAL"},
     "tranche.healthCheckInterval",
     "5s",
     "1500ms",
     "10s",
     "1500ms",
     "5",
     [](Settings& s) { s.health.interval = std::chrono::milliseconds(1500); }},
    {{"log-format"},
     {"LOG_FORMAT"},
     "tranche.logFormat",
     "text",
     "json",
     "text",
     "json",
     "xml",
     [](Settings& s) { s.log_format = LogFormat::kJson; }},
    {{"state-dir"},
     {"STATE_DIR"},
     "",
     "/var/lib/kubelet/device-plugins/tranche",
     "/var/lib/t",
     "/x",
     "",
     "var",
     [](Settings& s) {
       s.state_dir = "/var/lib/t";
       s.nested.directory = "/var/lib/t/nested";
     }},
    {{"host-root"},
     {"HOST_ROOT"},
     "",
     "/",
     "/host",
     "/x",
     "",
     "host",
     [](Settings& s) { s.host_root = "/host"; }},
    {{"driver-call-timeout"},
     {"DRIVER_CALL_TIMEOUT"},
     "",
     "10s",
     "3s",
     "1m",
     "",
     "3",
     [](Settings& s) { s.driver.call_patience = std::chrono::seconds(3); }},
    {{"cdi-dir"},
     {"CDI_DIR"},
     "",
     "/var/run/cdi",
     "/etc/cdi",
     "/x",
     "",
     "cdi",
     [](Settings& s) { s.cdi.directory = "/etc/cdi"; }},
    {{"v"}, {}, "", "0", "4", "3", "", "x", [](Settings& s) { s.log_level = LogLevel::kDebug; }},
    {{"logtostderr"}, {}, "", "true", "false", "true", "", "x", nothing},
    {{"alsologtostderr"}, {}, "", "false", "true", "false", "", "x", nothing},
    {{"stderrthreshold"}, {}, "", "", "INFO", "2", "", "\x01", nothing},
    {{"log_dir"}, {}, "", "", "/tmp", "x", "", "\x01", nothing},
    {{"vmodule"}, {}, "", "", "a=2", "x", "", "\x01", nothing},
    {{"log_backtrace_at"}, {}, "", "", "a:2", "x", "", "\x01", nothing},
    {{"health-check"}, {}, "", "false", "true", "false", "", "x", nothing},
    {{"query-kubelet"}, {}, "", "false", "true", "false", "", "x", nothing},
    {{"kubelet-address"}, {}, "", "0.0.0.0", "1.2.3.4", "x", "", "\x01", nothing},
    {{"kubelet-port"}, {}, "", "10250", "1", "2", "", "x", nothing},
    {{"client-cert"}, {}, "", "", "/c", "x", "", "\x01", nothing},
    {{"client-key"}, {}, "", "", "/k", "x", "", "\x01", nothing},
    {{"timeout"}, {}, "", "10", "5", "6", "", "x", nothing},
    {{"enable-container-gpu-metrics"}, {}, "", "false", "true", "false", "", "x", nothing},
    {{"gpu-metrics-port"}, {}, "", "2112", "1", "2", "", "x", nothing},
    {{"gpu-metrics-collection-interval"}, {}, "", "30000", "1", "2", "", "x", nothing},
    {{"enable-health-monitoring"}, {}, "", "false", "true", "false", "", "x", nothing},
    {{"gpu-config"}, {}, "", "/etc/nvidia/gpu_config.json", "/c", "x", "", "\x01", nothing},
    {{"gpu-fraction-divisor-file"}, {}, "", "", "/c", "x", "", "\x01", nothing},
    {{"host-vulkan-icd-path"}, {}, "", "", "/c", "x", "", "\x01", nothing},
    {{"publish-driver-version"}, {}, "", "false", "true", "false", "", "x", nothing},
};

// "flags.plugin.x" with a value, as a file. JSON-like, so that lines stay one.
std::string file_with(const std::string& key, const std::string& value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return key + ": " + value + "\n";
  return key.substr(0, dot) + ": {" + file_with(key.substr(dot + 1), value) + "}\n";
}

std::string title_of(const Row& row) { return row.names.empty() ? row.variables[0] : row.names[0]; }

Settings expected(const Row& row) {
  Settings settings = default_settings();
  row.expect(settings);
  return settings;
}

// -container-path cannot stand alone, and the value of -token is not kept; they
// are tested by themselves below.
TEST(LoadSettings, HasARowHereForEverySetting) {
  std::vector<std::string> titles;
  for (const Row& row : kAllRows) titles.push_back(title_of(row));
  titles.emplace_back("container-path");
  titles.emplace_back("token");
  std::vector<std::string> table;
  for (const FlagSpec& flag : flag_table()) table.emplace_back(flag.title());
  EXPECT_THAT(titles, ::testing::UnorderedElementsAreArray(table));
}

TEST(LoadSettings, HasTheDocumentedDefaults) {
  const auto loaded = load_flags({});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings, default_settings());
  for (const Row& row : kAllRows) {
    const Provenance* setting = find_setting(*loaded, title_of(row));
    ASSERT_NE(setting, nullptr) << title_of(row);
    EXPECT_EQ(show(setting->value), row.fallback) << title_of(row);
    EXPECT_EQ(setting->origin.kind, OriginKind::kDefault) << title_of(row);
    EXPECT_THAT(setting->origin.text, StartsWith("default")) << title_of(row);
    EXPECT_EQ(setting->key, row.key) << title_of(row);
  }
}

void expect_taken(const Row& row, const std::string& dashed_name) {
  const std::string equals = dashed_name + "=" + row.sample;
  const auto loaded = load_flags({equals});
  ASSERT_TRUE(loaded) << equals << ": " << problem_of(loaded);
  EXPECT_EQ(loaded->settings, expected(row)) << equals;
  const Provenance* setting = find_setting(*loaded, title_of(row));
  EXPECT_EQ(setting->origin, (Origin{OriginKind::kFlag, equals}));
  EXPECT_EQ(show(setting->value), row.sample);
  if (row.sample == "true" || row.sample == "false") return;
  const auto spaced = load_flags({dashed_name, row.sample});
  ASSERT_TRUE(spaced) << dashed_name << ": " << problem_of(spaced);
  EXPECT_EQ(spaced->settings, expected(row)) << dashed_name;
}

TEST(LoadSettings, TakesEveryFlagByEveryNameInEverySyntax) {
  for (const Row& row : kAllRows) {
    for (const std::string& name : row.names) {
      expect_taken(row, "-" + name);
      expect_taken(row, "--" + name);
    }
  }
}

TEST(LoadSettings, TakesABooleanWithoutAValueForTrue) {
  for (const Row& row : kAllRows) {
    if (row.sample != "true") continue;
    const auto loaded = load_flags({"--" + row.names[0]});
    ASSERT_TRUE(loaded) << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << row.names[0];
  }
}

TEST(LoadSettings, TakesEveryVariable) {
  for (const Row& row : kAllRows) {
    for (const std::string& variable : row.variables) {
      const auto loaded = load_variables({{variable, row.sample}});
      ASSERT_TRUE(loaded) << variable << ": " << problem_of(loaded);
      EXPECT_EQ(loaded->settings, expected(row)) << variable;
      const Provenance* setting = find_setting(*loaded, title_of(row));
      EXPECT_EQ(setting->origin, (Origin{OriginKind::kEnvironment, variable}));
    }
  }
}

TEST(LoadSettings, TakesEveryKey) {
  for (const Row& row : kAllRows) {
    if (row.key.empty()) continue;
    const std::string file = file_with(row.key, row.in_file);
    const auto loaded = load_file("# a comment\n" + file);
    ASSERT_TRUE(loaded) << file << ": " << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << file;
    const Provenance* setting = find_setting(*loaded, title_of(row));
    EXPECT_EQ(setting->origin, (Origin{OriginKind::kFile, "config.yaml:2"})) << file;
  }
}

TEST(LoadSettings, LetsTheFlagWinOverTheVariableAndThatOverTheFile) {
  for (const Row& row : kAllRows) {
    if (row.key.empty() || row.names.empty()) continue;
    const std::string file = file_with(row.key, row.in_file);
    const std::string& variable = row.variables[0];
    const auto by_variable = load_file(file, {}, {{variable, row.other}});
    ASSERT_TRUE(by_variable) << problem_of(by_variable);
    EXPECT_EQ(show(find_setting(*by_variable, title_of(row))->value), row.other);
    EXPECT_EQ(find_setting(*by_variable, title_of(row))->origin.text, variable);

    const std::string flag = "--" + row.names[0] + "=" + row.sample;
    const auto by_flag =
        load_file(file_with(row.key, row.in_file), {flag}, {{variable, row.other}});
    ASSERT_TRUE(by_flag) << problem_of(by_flag);
    EXPECT_EQ(by_flag->settings, expected(row)) << flag;
    EXPECT_EQ(find_setting(*by_flag, title_of(row))->origin.text, flag);
  }
}

TEST(LoadSettings, LetsTheFlagWinOverTheVariableWhereTheFileHasNoKey) {
  for (const Row& row : kAllRows) {
    if (row.variables.empty() || row.names.empty()) continue;
    const std::string flag = "--" + row.names[0] + "=" + row.sample;
    const auto loaded =
        load_settings(Sources{{flag}, {{row.variables[0], row.other}}}, std::nullopt);
    ASSERT_TRUE(loaded) << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << flag;
  }
}

TEST(LoadSettings, TakesTheFirstOfTwoVariables) {
  for (const Row& row : kAllRows) {
    if (row.variables.size() < 2) continue;
    const auto loaded =
        load_variables({{row.variables[0], row.sample}, {row.variables[1], row.other}});
    ASSERT_TRUE(loaded) << problem_of(loaded);
    EXPECT_EQ(loaded->settings, expected(row)) << row.variables[0];
  }
}

TEST(LoadSettings, NamesTheFlagThatIsWrong) {
  for (const Row& row : kAllRows) {
    for (const std::string& name : row.names) {
      const std::string flag = "--" + name + "=" + row.wrong;
      EXPECT_THAT(problem_of(load_flags({flag})), StartsWith(brief(flag) + ": ")) << flag;
    }
  }
}

TEST(LoadSettings, NamesTheVariableThatIsWrong) {
  for (const Row& row : kAllRows) {
    for (const std::string& variable : row.variables) {
      EXPECT_THAT(problem_of(load_variables({{variable, row.wrong}})), StartsWith(variable + ": "));
    }
  }
}

TEST(LoadSettings, NamesTheKeyAndLineThatIsWrong) {
  for (const Row& row : kAllRows) {
    if (row.key.empty() || !is_plain_text(row.wrong)) continue;
    const bool list = row.in_file.starts_with('[');
    const std::string value = list ? "[" + row.wrong + "]" : "'" + row.wrong + "'";
    const std::string problem = problem_of(load_file("\n\n" + file_with(row.key, value)));
    EXPECT_THAT(problem, StartsWith("config.yaml:3: " + row.key + ": ")) << value;
  }
}

TEST(LoadSettings, TellsOfAWrongKeyEvenWhenAFlagOverridesIt) {
  EXPECT_THAT(problem_of(load_file("flags: {migStrategy: mixd}\n", {"--mig-strategy=none"})),
              HasSubstr("unknown MIG strategy: mixd"));
}

TEST(LoadSettings, KeepsASecretNowhere) {
  const auto loaded = load_flags({"-token=hush", "-token", "hush"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings, default_settings());
  EXPECT_EQ(find_setting(*loaded, "token")->origin, (Origin{OriginKind::kFlag, "--token"}));
  EXPECT_THAT(effective_yaml(*loaded) + effective_json(*loaded), Not(HasSubstr("hush")));
}

TEST(LoadSettings, SaysWhatAFlagWithoutEffectWouldHaveDone) {
  const auto loaded = load_flags({"--enable-container-gpu-metrics", "--enable-health-monitoring",
                                  "-gpu-config=/etc/gpu.json", "--health-check", "-query-kubelet",
                                  "-publish-driver-version=false", "-logtostderr"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->notices,
              UnorderedElementsAre(
                  HasSubstr("--enable-container-gpu-metrics: without effect: this version has no"),
                  HasSubstr("-gpu-config=/etc/gpu.json: without effect: the file is not read"),
                  HasSubstr("-query-kubelet: without effect: this version asks neither")));
}

TEST(LoadSettings, TakesTheFolderOfTheSocketOrTheSocketButNotTwoDifferent) {
  EXPECT_THAT(problem_of(load_flags({"-plugin-directory=/d", "--kubelet-socket=/k/kubelet.sock"})),
              AllOf(StartsWith("-plugin-directory=/d: "), HasSubstr("/d/kubelet.sock"),
                    HasSubstr("--kubelet-socket=/k/kubelet.sock names another")));
  EXPECT_THAT(problem_of(load_flags({"-plugin-directory=/d", "--kubelet-socket="})),
              HasSubstr("leave one of them out"));
  const auto same = load_flags({"-plugin-directory=/d", "--kubelet-socket=/d/kubelet.sock"});
  ASSERT_TRUE(same) << problem_of(same);
  EXPECT_EQ(same->settings.kubelet.socket, "/d/kubelet.sock");
}

TEST(LoadSettings, CanDoWithoutTheKubeletsRecords) {
  const auto loaded = load_flags({"--pod-resources-socket=", "--kubelet-checkpoint="});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.kubelet.pod_resources_socket, "");
  EXPECT_EQ(loaded->settings.kubelet.checkpoint, "");
}

TEST(LoadSettings, DoesNotMindAWrongVariableThatAFlagOverrides) {
  const Sources sources{{"--mig-strategy=none"}, {{"MIG_STRATEGY", "mixd"}}};
  EXPECT_TRUE(load_settings(sources, std::nullopt));
}

}  // namespace
}  // namespace tranche
