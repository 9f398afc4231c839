# SPDX-License-Identifier: Apache-2.0
from .story import Story


class WholeGpus(Story):
    def test_a_pod_gets_the_gpus_it_asked_for_and_no_other(self):
        self.gpus("dgx-a100")
        self.agent("--pass-device-specs")
        self.until_offered(8)
        view = self.run_pod("two", 2)
        self.assertEqual(view.reachable_minors(), [0, 1])
