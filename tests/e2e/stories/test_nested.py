# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes in a privileged pod of another, and two real kubelets."""
import os
import pathlib

from cluster import cgroups
from cluster.cluster import until

from .nested import NestedStory
from .pods import pod
from .story import PODS
from .story_sets import extended

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@extended
class Nested(NestedStory):
    def traces_of_pod(self, uid):
        """Processes, its own and those of all pods inside, and what the outer node has for them."""
        def is_in_it(process):
            try:
                return uid in (process / "cgroup").read_text()
            except (FileNotFoundError, ProcessLookupError):
                return False
        groups = [path for folder in cgroups.folders(self.cluster.layout.cgroup)
                  for path, _, _ in os.walk(folder) if uid in path]
        mounts = [line for line in self.cluster.checked("cat", "/proc/self/mountinfo").splitlines() if uid in line]
        return {"processes": [p.name for p in pathlib.Path("/proc").glob("[0-9]*") if is_in_it(p)],
                "cgroups": groups, "mounts": mounts}

    def test_a_node_pod_that_is_deleted_ends_all_that_is_inside_and_comes_again_with_its_disk(self):
        gpus = self.gpus("dgx-a100")
        self.agent()
        self.until_offered(8)
        inner = self.start_node_pod("tenant", gpus=2)
        given = inner.environment()["NVIDIA_VISIBLE_DEVICES"].split(",")
        self.assertEqual(len(given), 2)
        self.assertLess(set(given), set(gpus.uuids()))
        inner.create(pod("speaks", script="echo told from within", stays=False))
        inner.until_phase("speaks", "Succeeded")
        self.assertIn("told from within", inner.output("speaks").splitlines())
        inner.create(pod("stays"))
        inner.until_phase("stays", "Running")
        inner.cluster.api.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap",
                                               "metadata": {"name": "kept"}, "data": {"word": "kept"}})
        uid = self.get("tenant")["metadata"]["uid"]
        self.assertGreater(len(self.traces_of_pod(uid)["processes"]), 10)

        self.delete_pod("tenant")
        self.assertIsNone(inner.cluster.pid())
        until(lambda: not any(self.traces_of_pod(uid).values()), f"the end of all of the node pod {uid}", 30)
        self.assertEqual(len(self.run_pod("all", 8).visible()), 8)
        self.delete_pod("all")

        inner.up()
        self.assertNotEqual(self.get("tenant")["metadata"]["uid"], uid)
        self.assertEqual(inner.cluster.api.get(f"{CONFIG_MAPS}/kept")["data"], {"word": "kept"})
        self.assertEqual(inner.phase("speaks"), "Succeeded")
        self.assertEqual(len(inner.cluster.api.get(PODS)["items"]), 2)
        inner.run_pod("new", 0)

    def test_a_node_pod_whose_container_is_started_again_boots_from_its_disk_with_the_same_gpus(self):
        self.gpus("dgx-a100")
        self.agent()
        self.until_offered(8)
        inner = self.start_node_pod("tenant", gpus=2, changes={"restartPolicy": "Always"})
        before = inner.environment()["NVIDIA_VISIBLE_DEVICES"]
        inner.create(pod("stays", restartPolicy="Always"))
        inner.until_phase("stays", "Running")
        inner.restart_container()
        self.assertEqual(inner.environment()["NVIDIA_VISIBLE_DEVICES"], before)
        until(lambda: inner.get("stays")["status"]["containerStatuses"][0]["restartCount"] == 1,
              "the restart of the inner pod", 60)

    def test_an_agent_on_the_inner_node_sees_the_gpus_of_the_machine_and_how_they_are(self):
        gpus = self.gpus("dgx-a100")
        self.agent()
        self.until_offered(8)
        inner = self.start_node_pod("tenant", gpus=2)
        inner.agent("--pass-device-specs", "--health-check-interval=500ms")
        inner.until_offered(8)
        view = inner.run_pod("one", 1)
        self.assertEqual(view.visible(), [gpus.uuids()[minor] for minor in view.reachable_minors()])
        self.assertEqual(len(view.visible()), 1)

        gpus.fault("lose", "--gpu", view.visible()[0])
        inner.until_offered(7, capacity=8)
        gpus.fault("come-back", "--gpu", view.visible()[0])
        inner.until_offered(8)
