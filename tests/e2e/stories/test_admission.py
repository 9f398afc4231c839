# SPDX-License-Identifier: Apache-2.0
"""The chart's admission policies on a real API server, and the ways around them that were thought of."""
import json

from cluster.api import ApiError
from cluster.cluster import until

from .pods import container, pod_of
from .story import GPU, PODS, Story
from .test_install import DEPLOY
from .under_test import only_ours

SHARE = "nvidia.com/gpu-quarter"
CONFIG = {"version": "v1", "tranche": {"policies": [
    {"resource": SHARE, "share": "replicas", "replicas": 4, "enforcement": "mps"}]}}
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
NO_ROOT = {"runAsNonRoot": True, "allowPrivilegeEscalation": False}
USER = {"runAsUser": 1000, "allowPrivilegeEscalation": False}
KEEP = {"allowPrivilegeEscalation": False}


def box(name="main", asks=SHARE, context=None, **changes):
    if context is not None:
        changes["securityContext"] = context
    return container(name, {asks: 1} if asks else {}, **changes)


def pod(*containers, context=None, **spec):
    if context is not None:
        spec["securityContext"] = context
    return pod_of("tried", list(containers), **spec)


# Each is refused by one of the policies, by its name.
PROBES = {"mps-clients": pod(box()),
          "environment": pod(box(asks=GPU, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]))}


@only_ours("is about our chart's policies")
class Admission(Story):
    more_programs = ("nvidia", "helm")

    def hold(self, **values):
        """Applies the chart's policies, and waits until the API server holds them."""
        values = {"config": {"map": {"a": json.dumps(CONFIG)}}, **values}
        values["admission"] = {"ownNodeOnly": False, **values.get("admission", {})}  # test_cluster_admission.py
        file = self.cluster.layout.state / "admission-values.json"
        file.write_text(json.dumps(values))
        rendered = self.cluster.checked("helm", "template", "t", DEPLOY / "helm", "--kube-version=1.36", "--values", file)
        parts = "---\n".join(part for part in rendered.split("---\n") if "admissionregistration" in part)
        self.cluster.checked("kubectl", "apply", "-f", "-", input=parts)
        self.addCleanup(self.lift, parts)
        for policy in self.cluster.api.get(POLICIES)["items"]:
            name = policy["metadata"]["name"]
            until(lambda: name in self.refusal(PROBES[name.partition(".")[0]]), f"that {name} is held", 30)

    def lift(self, parts):
        """And waits until they are forgotten, for the next story."""
        if self.has_failed():
            return
        self.cluster.checked("kubectl", "delete", "-f", "-", input=parts)
        until(lambda: not any(map(self.refusal, PROBES.values())), "the end of the policies", 30)

    def refusal(self, manifest):
        """What the API server says to a pod that it does not take; nothing is made."""
        try:
            self.cluster.api.create(f"{PODS}?dryRun=All", manifest)
        except ApiError as error:
            return str(error)
        return ""

    def assert_refused(self, words, **pods):
        for name, manifest in pods.items():
            with self.subTest(pod=name):
                said = self.refusal(manifest)
                self.assertIn(words, said)
                self.assertIn("ValidatingAdmissionPolicy", said)

    def assert_taken(self, **pods):
        for name, manifest in pods.items():
            with self.subTest(pod=name):
                self.assertEqual(self.refusal(manifest), "")

    def debug(self, context=None, **changes):
        """What the API server says to a debug container in the pod `runs`."""
        extra = {"name": "debug", "image": "x", "targetContainerName": "main", **changes}
        if context is not None:
            extra["securityContext"] = context
        patch = {"spec": {"ephemeralContainers": [extra]}}
        try:
            self.cluster.api.text("PATCH", f"{PODS}/runs/ephemeralcontainers?dryRun=All", patch,
                                  content_type="application/strategic-merge-patch+json")
        except ApiError as error:
            return str(error)
        return ""

    def existing(self, *containers, **spec):
        """A pod that is there; it waits, because nobody offers the resource."""
        manifest = pod(*containers, **spec)
        manifest["metadata"]["name"] = "runs"
        self.create(manifest)

    def test_root_is_refused_where_mps_is_asked_for_by_whatever_way(self):
        self.hold(mps={"clients": "non-root"})
        self.assert_refused(
            "may run as root",
            plain=pod(box()),
            image_may_have_set_user_id_programs=pod(box(context={"runAsNonRoot": True})),
            container_says_otherwise_than_pod=pod(box(context={**KEEP, "runAsNonRoot": False}),
                                                  context={"runAsNonRoot": True}),
            user_of_container_wins_over_pods=pod(box(context={**KEEP, "runAsUser": 0}), context={"runAsUser": 1000}),
            user_0_although_not_root=pod(box(context={**NO_ROOT, "runAsUser": 0})),
            user_0_of_pod=pod(box(context=NO_ROOT), context={"runAsUser": 0}),
            init_container_asks=pod(box(asks=None, context=NO_ROOT), initContainers=[box("init")]),
            sidecar_asks=pod(box(asks=None, context=NO_ROOT), initContainers=[box("side", restartPolicy="Always")]),
            another_container_is_root=pod(box(context=NO_ROOT), box("other", asks=None)),
            init_container_is_root=pod(box(context=NO_ROOT), initContainers=[box("init", asks=None)]),
            second_container_asks=pod(box(asks=None, context=NO_ROOT), box("other")),
            privileged_beside=pod(box(context=NO_ROOT),
                                  box("other", asks=None, context={"privileged": True, "runAsNonRoot": True})),
            user_namespace_is_refused_explicitly=pod(box(), hostUsers=True))
        self.assertIn("containers main, init may", self.refusal(pod(box(), initContainers=[box("init")])))

    def test_who_is_not_root_or_asks_for_no_mps_is_taken(self):
        self.hold(mps={"clients": "non-root"})
        self.assert_taken(
            not_root=pod(box(context=NO_ROOT)),
            user=pod(box(context=USER)),
            by_pod=pod(box(context=KEEP), context={"runAsNonRoot": True}),
            user_by_pod=pod(box(context=KEEP), context={"runAsUser": 1000}),
            all_of_several=pod(box(context=USER), box("other", asks=None, context=NO_ROOT),
                               initContainers=[box("init", asks=None, context=USER)]),
            user_namespace=pod(box(), hostUsers=False),
            asks_for_a_whole_gpu=pod(box(asks=GPU)),
            asks_for_nothing=pod(box(asks=None)))

    def test_a_debug_container_is_judged_too(self):
        self.hold(mps={"clients": "non-root"}, admission={"forbidEnvOverrides": True})
        self.existing(box(context=NO_ROOT))
        self.assertIn("containers debug may run as root", self.debug())
        self.assertIn("may run as root", self.debug({**KEEP, "runAsUser": 0}))
        self.assertEqual(self.debug(USER), "")
        self.assertIn("debug: NVIDIA_VISIBLE_DEVICES",
                      self.debug(USER, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]))

    def test_pods_that_were_there_before_can_still_be_changed_and_deleted(self):
        self.existing(box())
        self.cluster.api.merge(f"{PODS}/runs", {"metadata": {"finalizers": ["example.com/mine"]}})
        self.hold(mps={"clients": "non-root"}, admission={"forbidEnvOverrides": True})
        self.cluster.api.merge(f"{PODS}/runs", {"metadata": {"labels": {"a": "b"}}})
        self.cluster.api.delete(f"{PODS}/runs")
        self.cluster.api.merge(f"{PODS}/runs", {"metadata": {"finalizers": None}})
        until(lambda: not self.exists("runs"), "the end of the pod", 30)

    def test_variables_of_the_plugin_are_refused_by_whatever_way(self):
        self.hold(admission={"forbidEnvOverrides": True})
        def sets(name, value="x", asks=SHARE, **more):
            return pod(box(asks=asks, env=[{"name": name, "value": value}]), **more)
        def takes(**source):
            return pod(box(envFrom=[source]))
        self.assert_refused(
            "sets variables that the device plugin sets",
            pipe=sets("CUDA_MPS_PIPE_DIRECTORY"), limit=sets("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"),
            memory=sets("NVIDIA_GPU_MEMORY_LIMIT", "80000"), all_gpus=sets("NVIDIA_VISIBLE_DEVICES", "all"),
            of_a_whole_gpu=sets("NVIDIA_VISIBLE_DEVICES", "all", asks=GPU),
            of_a_mig_device=sets("NVIDIA_VISIBLE_DEVICES", "all", asks="nvidia.com/mig-1g.5gb"),
            from_a_field=pod(box(env=[{"name": "NVIDIA_VISIBLE_DEVICES",
                                       "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a']"}}}])),
            by_another_variable=pod(box(env=[{"name": "A", "value": "all"},
                                             {"name": "NVIDIA_VISIBLE_DEVICES", "value": "$(A)"}])),
            in_an_init_container=pod(box(), initContainers=[
                box("init", asks=None, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])]),
            in_a_container_that_does_not_ask=pod(box(), box("other", asks=None, env=[
                {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])))
        self.assert_refused(
            "could set variables",
            from_a_config_map=takes(configMapRef={"name": "a"}),
            from_a_secret=takes(secretRef={"name": "a"}),
            with_half_of_a_name=takes(configMapRef={"name": "a"}, prefix="NVIDIA_"),
            with_a_whole_name=takes(configMapRef={"name": "a"}, prefix="NVIDIA_VISIBLE_DEVICES"))
        self.assert_taken(
            other_variables=sets("PATH"), no_devices=sets("NVIDIA_VISIBLE_DEVICES", "void"),
            config_map_with_a_prefix=takes(configMapRef={"name": "a"}, prefix="APP_"),
            asks_for_no_gpu=sets("NVIDIA_VISIBLE_DEVICES", "all", asks=None),
            asks_for_no_gpu_with_a_config_map=pod(box(asks=None, envFrom=[{"configMapRef": {"name": "a"}}])))

    def test_the_api_server_has_nothing_to_say_of_the_policies_themselves(self):
        self.hold(mps={"clients": "non-root"}, admission={"forbidEnvOverrides": True})
        def judged():
            found = [policy for policy in self.cluster.api.get(POLICIES)["items"]
                     if policy["metadata"]["name"].endswith("t-tranche-device-plugin")]
            done = [policy["status"] for policy in found
                    if policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"]]
            return done if len(done) == len(found) == 2 else None
        for status in until(judged, "the type check of both policies", 30):
            self.assertEqual(status.get("typeChecking", {}), {})
