# SPDX-License-Identifier: Apache-2.0
"""What a GPU pod gets besides GPUs: GPUDirect Storage, InfiniBand, IMEX channels."""
from .story import Story

LOOK_AT_NODES = """
for node in $(find /dev -type c | sort); do case $node in
  */infiniband/*|*/nvidia-fs*|*imex*) try "$node" "told $node";;
esac; done
"""
STORAGE = [f"/dev/nvidia-fs{number}" for number in range(16)]
CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"


class ExtraDevices(Story):
    def extras(self, count=1):
        """Those that a GPU pod can open."""
        view = self.run_pod(f"pod-{count}", count, look=LOOK_AT_NODES)
        return sorted(path for path, how in view.told.items() if how == "opens"), view

    def test_a_pod_has_none_unless_they_are_asked_for(self):
        self.gpus("dgx-h100")
        self.agent("--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all")
        self.until_offered(8)
        self.assertEqual(self.extras()[0], [])

    def test_storage_and_infiniband_come_by_cdi(self):
        self.gpus("dgx-h100")
        self.agent("--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all", "--gds-enabled", "--mofed-enabled")
        self.until_offered(8)
        nodes, view = self.extras(2)
        self.assertEqual([node for node in nodes if node.startswith("/dev/nvidia-fs")], sorted(STORAGE))
        self.assertIn("/dev/infiniband/uverbs0", nodes)
        self.assertIn("/dev/infiniband/uverbs7", nodes)
        self.assertEqual(len(view.reachable_minors()), 2)

    def test_a_runtime_is_told_of_them_by_variables(self):
        self.gpus("dgx-h100")
        self.agent("--gds-enabled", "--mofed-enabled", "--gdrcopy-enabled")
        self.until_offered(8)
        view = self.extras()[1]
        self.assertEqual([view.env.get(f"NVIDIA_{what}") for what in ("GDS", "MOFED", "GDRCOPY")], ["enabled"] * 3)

    def test_an_imex_channel_comes_by_device_specs(self):
        self.gpus("gb200-tray")
        self.agent("--imex-channel-ids=0", "--pass-device-specs")
        self.until_offered(4)
        nodes, view = self.extras()
        self.assertEqual((nodes, view.env["NVIDIA_IMEX_CHANNELS"]), ([CHANNEL], "0"))

    def test_an_imex_channel_comes_by_cdi(self):
        self.gpus("gb200-tray")
        self.agent("--imex-channel-ids=0", "--device-list-strategy=cdi-cri", "--cdi-disable-hooks=all")
        self.until_offered(4)
        self.assertEqual(self.extras()[0], [CHANNEL])
