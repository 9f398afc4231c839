# SPDX-License-Identifier: Apache-2.0
"""The rights that our chart gives the agent: accounts, roles, admission policy and CRD, on the story's cluster."""
import itertools
import json

from cluster.api import ApiError
from cluster.cluster import until
from cluster.layout import NODE_NAME, PAUSE_IMAGE

from .story import Story
from .test_install import DEPLOY

NODES = "/api/v1/nodes"
OTHER = "node-2"
GPU_NODES = "/apis/gpu.tranche.dev/v1alpha1/gpunodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CONDITION = "GpusHealthy"
APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"


def gpu_node(name, **more):
    return {"apiVersion": "gpu.tranche.dev/v1alpha1", "kind": "GpuNode", "metadata": {"name": name}, **more}


class StoryWithRights(Story):
    """Each story has what the chart makes with `values`, but for the DaemonSet."""
    more_programs = ("nvidia", "helm")
    values = {}
    releases = itertools.count(1)

    def setUp(self):
        super().setUp()
        # One for each story, so that none is refused by the policy of the one before, which the API server may
        # not have forgotten yet.
        release = f"story-{next(self.releases)}"
        self.account = f"{release}-tranche-device-plugin"
        file = self.cluster.layout.state / "agent-values.json"
        file.write_text(json.dumps(self.values))
        rendered = self.cluster.checked("helm", "template", release, DEPLOY / "helm", "--namespace=default",
                                        "--kube-version=1.36", "--values", file)
        parts = "---\n".join(part for part in rendered.split("---\n") if "kind: DaemonSet" not in part)
        self.addCleanup(self.remove, parts)
        self.cluster.checked("kubectl", "apply", "-f", "-", input=parts)
        self.cluster.checked("kubectl", "wait", "--for=condition=Established", "crd/gpunodes.gpu.tranche.dev")
        self.cluster.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": OTHER}})
        self.agent_token = self.token_of_a_pod()
        self.agent_api = self.cluster.api_as(self.agent_token)
        # The API server needs a moment for the new kind, the account's rights and the policy.
        until(lambda: "may write only its own" in self.answer("PATCH", f"{GPU_NODES}/{OTHER}", gpu_node(OTHER)),
              "that the policy is held", 30)

    def remove(self, parts):
        if self.has_no_use_for_cluster():
            return
        self.cluster.checked("kubectl", "delete", "--ignore-not-found", "-f", "-", input=parts)
        self.cluster.api.delete(f"{NODES}/{OTHER}")

    def token_of_a_pod(self):
        made = self.create({"metadata": {"name": "agent"}, "spec": {
            "nodeName": NODE_NAME, "serviceAccountName": self.account, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": PAUSE_IMAGE}]}})
        return self.token(kind="Pod", name="agent", uid=made["metadata"]["uid"])

    def token(self, **bound):
        """Of the agent's account, bound to an object or to none."""
        spec = {"boundObjectRef": {"apiVersion": "v1", **bound}} if bound else {}
        return self.cluster.api.create(f"/api/v1/namespaces/default/serviceaccounts/{self.account}/token",
                                       {"spec": spec})["status"]["token"]

    def answer(self, method, path, body, api=None, content_type=APPLY):
        """What the API server says to a request of the agent that it refuses; nothing is changed."""
        query = "dryRun=All&fieldManager=story" + ("&force=true" if "apply" in content_type else "")
        try:
            (api or self.agent_api).text(method, f"{path}?{query}", body, content_type=content_type)
        except ApiError as error:
            return str(error)
        return ""

    def clear_node(self, labels=(), resources=()):
        """Takes back what an agent wrote into its Node."""
        api = self.cluster.api
        api.merge(f"{NODES}/{NODE_NAME}", {"metadata": {"labels": dict.fromkeys(labels)}})
        gone = dict.fromkeys(resources)
        api.merge(f"{NODES}/{NODE_NAME}/status", {"status": {"capacity": gone, "allocatable": gone}})
        api.text("PATCH", f"{NODES}/{NODE_NAME}/status", content_type=STRATEGIC,
                 body={"status": {"conditions": [{"$patch": "delete", "type": CONDITION}]}})
