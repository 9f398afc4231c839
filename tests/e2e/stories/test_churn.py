# SPDX-License-Identifier: Apache-2.0
import os
import random
import threading

from cluster.cluster import until

from .pods import pod
from .story import GPU, PODS, Story

PODS_IN_ALL = 100
AT_ONCE = 12  # more than there are GPUs, so that some always wait

# Whoever has the GPU holds its lock.
UNTIL_DELETED = "exec hold /locks $(echo $NVIDIA_VISIBLE_DEVICES | tr , ' ')"
FOR_A_WHILE = "hold /locks $(echo $NVIDIA_VISIBLE_DEVICES | tr , ' ') & sleep {}"


class Churn(Story):
    def test_no_gpu_is_ever_in_two_pods_while_pods_come_and_go_and_the_agent_is_killed(self):
        seed = int(os.environ.get("TRANCHE_SEED", random.randrange(2**32)))
        print(f"TRANCHE_SEED={seed}", flush=True)
        chance = random.Random(seed)
        locks = self.cluster.layout.state / "locks"
        locks.mkdir(exist_ok=True)
        self.gpus("dgx-a100")
        self.agent_process = self.agent()
        self.until_offered(8)

        over = threading.Event()
        killer = threading.Thread(target=self.kill_now_and_then, args=(random.Random(seed), over))
        killer.start()
        try:
            ended = self.churn(chance, locks)
        finally:
            over.set()
            killer.join()
        self.assertGreater(self.kills, 0)
        self.assertGreater(ended["Succeeded"], PODS_IN_ALL // 10, ended)
        self.assertGreater(ended["deleted"], PODS_IN_ALL // 10, ended)
        twice = locks / "twice"
        self.assertFalse(twice.exists(), twice.exists() and twice.read_text())

        # What is offered may be from before the last kill.
        self.agent_process.kill()
        self.until_offered(0, capacity=8)
        self.agent_process.start()
        self.until_offered(8)
        views = [self.run_pod(f"last-{n}", 1) for n in range(8)]
        self.assertEqual(len({view.env["NVIDIA_VISIBLE_DEVICES"] for view in views}), 8)

    def kill_now_and_then(self, chance, over):
        """As a DaemonSet would restart it, but at once."""
        self.kills = 0
        while not over.wait(chance.uniform(0.5, 4)):
            self.agent_process.kill()
            self.kills += 1
            over.wait(chance.uniform(0, 0.5))
            self.agent_process.start()

    def churn(self, chance, locks):
        """Keeps AT_ONCE pods alive until all have been; returns how they ended."""
        ended = {"Succeeded": 0, "Failed": 0, "deleted": 0}
        made, alive = 0, set()
        while made < PODS_IN_ALL or alive:
            while made < PODS_IN_ALL and len(alive) < AT_ONCE:
                name = f"churn-{made}"
                self.create(self.holder(name, chance, locks))
                alive.add(name)
                made += 1
            phases = until(lambda: self.any_news(alive), "news of any pod", 120)
            for name, phase in phases.items():
                self.delete_pod(name, wait=False)
                ended[phase] += 1
            alive -= phases.keys()
        until(lambda: not self.cluster.api.get(PODS)["items"], "the end of all pods", 60)
        return ended

    def any_news(self, alive):
        """Pods that are to be deleted now: those that ended, and those that would never."""
        found = {}
        for item in self.cluster.api.get(PODS)["items"]:
            name, phase = item["metadata"]["name"], item["status"].get("phase")
            if name not in alive:
                continue
            if phase == "Failed":
                # All that may go wrong is that the agent was not there just then.
                self.assertEqual(item["status"].get("reason"), "UnexpectedAdmissionError", item["status"])
            if phase in ("Succeeded", "Failed"):
                found[name] = phase
            elif phase == "Running" and item["metadata"]["labels"]["end"] == "deleted":
                found[name] = "deleted"
        return found

    def holder(self, name, chance, locks):
        stays = chance.random() < 0.4
        script = UNTIL_DELETED if stays else FOR_A_WHILE.format(round(chance.uniform(0.1, 2), 1))
        labels = {"end": "deleted" if stays else "itself"}
        manifest = pod(name, {GPU: 1}, metadata={"labels": labels}, container={
            "command": ["sh", "-c", script],
            "volumeMounts": [{"name": "locks", "mountPath": "/locks"}]})
        manifest["spec"]["volumes"] = [{"name": "locks", "hostPath": {"path": str(locks)}}]
        return manifest
