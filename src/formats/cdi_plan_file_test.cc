// SPDX-License-Identifier: Apache-2.0
//
// The whole specification of one GPU, byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cdi/cdi_plan.h"
#include "core/cdi/testing/cdi_fixtures.h"
#include "formats/cdi_json.h"

namespace tranche::formats {
namespace {

using ::testing::IsEmpty;

TEST(CdiPlan, IsThisFileForOneGpu) {
  const CdiPlan plan =
      cdi_plan(an_inventory({a_gpu(0)}), a_driver(),
               {.disabled_hooks = {"update-application-profile"}, .limits_memory = true}, {});
  ASSERT_EQ(plan.specs.size(), 1U);
  EXPECT_THAT(plan.left_out, IsEmpty());
  EXPECT_THAT(plan.kept, IsEmpty());
  const Result<std::string> text = cdi_json(plan.specs[0]);
  ASSERT_TRUE(text);
  // The tests below check hooks and mounts one by one.
  EXPECT_THAT(*text, testing::StartsWith(R"({
  "cdiVersion": "0.3.0",
  "kind": "k8s.device-plugin.nvidia.com/gpu",
  "devices": [
    {
      "name": "GPU-0",
      "containerEdits": {
        "deviceNodes": [
          {
            "path": "/dev/nvidia0",
            "major": 195,
            "minor": 0,
            "fileMode": 438,
            "permissions": "rwm"
          }
        ],
        "hooks": [
          {
            "hookName": "createRuntime",
            "path": "/usr/bin/nvidia-ctk",
            "args": [
              "nvidia-ctk",
              "hook",
              "apply-cuda-memory-limits",
              "--driver-root",
              "/",
              "--gpu-id",
              "GPU-0"
            ],
            "env": [
              "NVIDIA_CTK_DEBUG=false"
            ]
          }
        ]
      }
    },
    {
      "name": "all",
)"));
  EXPECT_THAT(*text, testing::EndsWith(R"(
  "containerEdits": {
    "env": [
      "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64",
      "NVIDIA_VISIBLE_DEVICES=void"
    ],
    "deviceNodes": [
      {
        "path": "/dev/nvidia-uvm",
        "major": 510,
        "minor": 0,
        "fileMode": 438,
        "permissions": "rwm"
      },
      {
        "path": "/dev/nvidiactl",
        "major": 195,
        "minor": 255,
        "fileMode": 438,
        "permissions": "rwm"
      }
    ],
    "hooks": [
      {
        "hookName": "createContainer",
        "path": "/usr/bin/nvidia-ctk",
        "args": [
          "nvidia-ctk",
          "hook",
          "create-symlinks",
          "--link",
          "libcuda.so.1::/usr/lib64/libcuda.so",
          "--link",
          "libcuda.so.580.95.05::/usr/lib64/libcuda.so.1"
        ],
        "env": [
          "NVIDIA_CTK_DEBUG=false"
        ]
      },
      {
        "hookName": "createContainer",
        "path": "/usr/bin/nvidia-ctk",
        "args": [
          "nvidia-ctk",
          "hook",
          "enable-cuda-compat",
          "--host-driver-version=580.95.05"
        ],
        "env": [
          "NVIDIA_CTK_DEBUG=false"
        ]
      },
      {
        "hookName": "createContainer",
        "path": "/usr/bin/nvidia-ctk",
        "args": [
          "nvidia-ctk",
          "hook",
          "update-ldcache",
          "--folder",
          "/usr/lib64"
        ],
        "env": [
          "NVIDIA_CTK_DEBUG=false"
        ]
      },
      {
        "hookName": "createContainer",
        "path": "/usr/bin/nvidia-ctk",
        "args": [
          "nvidia-ctk",
          "hook",
          "disable-device-node-modification"
        ],
        "env": [
          "NVIDIA_CTK_DEBUG=false"
        ]
      }
    ],
    "mounts": [
      {
        "hostPath": "/usr/lib64/libcuda.so.580.95.05",
        "containerPath": "/usr/lib64/libcuda.so.580.95.05",
        "options": [
          "ro",
          "nosuid",
          "nodev",
          "rbind",
          "rprivate"
        ]
      }
    ]
  }
}
)"));
}

TEST(CdiPlan, EqualInputGivesEqualBytes) {
  const auto text = [](std::vector<Gpu> gpus) {
    return *cdi_json(cdi_plan(an_inventory(std::move(gpus)), a_driver(), {}, {}).specs.at(0));
  };
  EXPECT_EQ(text({a_gpu(0), a_gpu(1)}), text({a_gpu(1), a_gpu(0)}));
}

}  // namespace
}  // namespace tranche::formats
