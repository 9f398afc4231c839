# SPDX-License-Identifier: Apache-2.0
"""Stories of two clusters, one in a pod of the other."""
import pathlib

from cluster.inner import InnerCluster

from .on_cluster import OnCluster
from .story import BUILD, GPU, Story


class InnerNode(OnCluster):
    """A node pod of the story's cluster, and the cluster in it."""

    def __init__(self, story, cluster, gpus):
        self.story = story
        self.cluster = cluster
        self.gpus = gpus
        self.fail = story.fail

    def up(self):
        """Creates the node pod, for the first time or again with the same disk; returns when the
        inner node is ready."""
        self.cluster.up(self.story.kubelet_changes, self.story.default_runtime)
        self.mount_driver()
        return self

    def mount_driver(self):
        """The same files as on the outer node, at the same place."""
        if self.gpus:
            self.gpus.mount(self.cluster)

    def down(self):
        """Deletes the node pod, and returns when it is gone. The disk stays."""
        self.cluster.down()

    def restart_container(self):
        """In the same pod, whose restartPolicy must be Always."""
        self.cluster.restart_container()
        self.mount_driver()

    def agent(self, *flags):
        """A plugin as a plain process on the inner node."""
        return self.story.agent_on(self.cluster, *flags)

    def environment(self):
        """Of the node's first process: what the outer cluster gave the pod."""
        pairs = pathlib.Path(f"/proc/{self.cluster.pid()}/environ").read_bytes().decode().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if pair)


class NestedStory(Story):
    def setUp(self):
        self.driver = None
        self.inner_nodes = []
        super().setUp()

    def gpus(self, world):
        """On the outer node, and on the nodes of pods that are started later: one driver."""
        self.driver = super().gpus(world)
        return self.driver

    def start_node_pod(self, name="tenant", gpus=2, **options):
        """A node pod with GPUs, and a Kubernetes in it that is ready. `options` are InnerCluster's."""
        limits = {GPU: gpus, **options.pop("limits", {})} if gpus else options.pop("limits", {})
        folders = {BUILD: False, **({self.driver.root: True} if self.driver else {}), **options.pop("folders", {})}
        inner = InnerNode(self, InnerCluster(self.cluster, name, limits, folders, **options), self.driver)
        self.inner_nodes.append(inner)
        return inner.up()

    def keep_logs(self, cluster):
        super().keep_logs(cluster)
        for inner in self.inner_nodes:
            self.copy_logs(inner.cluster, self.logs_folder() / inner.cluster.name)

    def empty_the_node(self):
        super().empty_the_node()
        for inner in self.inner_nodes:  # the next story's of this name begins with an empty disk
            inner.cluster.down(purge=True)
