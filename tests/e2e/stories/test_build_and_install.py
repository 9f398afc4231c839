# SPDX-License-Identifier: Apache-2.0
"""build.sh and install.sh, with a real registry: built, pushed, fetched by the node, and at work."""
import itertools
import json
import os
import shutil
import subprocess
import tarfile

from cluster.layout import OUTER

from .registry import ADDRESS, LOCAL_ADDRESS, Registry
from .story_sets import extended
from .test_install import PROJECT, Installed

TAG = "0.1-e2e"
ARCHIVE = PROJECT / f"build/tranche-device-plugin-{TAG}.tar"
LAST_IMAGE = PROJECT / "build/last-image"
NAME = "tranche-device-plugin"
dates = itertools.count(1)


def in_archive(*path):
    """A file of the image's archive."""
    with tarfile.open(ARCHIVE) as archive:
        return json.load(archive.extractfile("/".join(path)))


def digest():
    return in_archive("index.json")["manifests"][0]["digest"]


def layer():
    return in_archive("blobs", *digest().split(":"))["layers"][0]["digest"]


class BuildAndInstall(Installed):
    """On a node whose default runtime is NVIDIA's, as the manifest says."""
    default_runtime = "nvidia"
    tools = ("registry",)
    uses_alone = "the build folder"

    def bring_image(self):
        """Each story builds an image with a date, and so with content, that the node has not seen: of
        what was fetched once, neither containerd nor the kubelet forgets everything."""
        self.date = str(next(dates))
        last = LAST_IMAGE.read_text() if LAST_IMAGE.exists() else None
        self.addCleanup(self.remove_what_was_built, last)

    @staticmethod
    def remove_what_was_built(last):
        ARCHIVE.unlink(missing_ok=True)
        LAST_IMAGE.unlink(missing_ok=True)
        if last is not None:
            LAST_IMAGE.write_text(last)

    def registry(self, **options):
        registry = Registry(self.cluster, **options)
        self.plugins.append(registry)  # and so it is stopped
        shutil.rmtree(self.cluster.layout.registries, ignore_errors=True)
        return registry.start()

    def script(self, name, *words, **environment):
        """As a user runs it: on the node's network, but with the machine's own files, and anywhere."""
        path = f"{self.cluster.programs['kubernetes']}:{os.environ['PATH']}"
        environment = {"KUBECONFIG": str(self.cluster.layout.kubeconfig("admin")),
                       "SOURCE_DATE_EPOCH": self.date, **environment}
        return subprocess.run([*self.in_its_network(), PROJECT / name, *words], cwd="/", text=True, capture_output=True,
                              env={**os.environ, "PATH": path, **environment})

    def succeeds(self, *words, **environment):
        done = self.script(*words, **environment)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def fails(self, *words, **environment):
        done = self.script(*words, **environment)
        self.assertEqual(done.returncode, 1, done)
        self.assertTrue(done.stderr.splitlines()[-1].startswith("  ") and f"{words[0]}: " in done.stderr, done)
        return done.stderr

    def in_its_network(self):
        """The registry is reached from the node only."""
        return "nsenter", f"--net=/proc/{self.cluster.pid()}/ns/net", "--"

    def builds_but_cannot_push(self, *words, **environment):
        ARCHIVE.unlink(missing_ok=True)
        said = self.fails("build.sh", *words, TAG, **environment)
        self.assertIn(f"The image is in {ARCHIVE}", said)
        self.assertEqual(in_archive("manifest.json")[0]["RepoTags"], [f"{words[-1]}/{NAME}:{TAG}"])
        return said

    def trust_by_configuration(self):
        """As in /etc/containers/registries.conf, but only for a user whose home is in the cluster's state."""
        file = self.cluster.layout.state / "home/.config/containers/registries.conf"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'[[registry]]\nlocation = "{ADDRESS}"\ninsecure = true\n')
        return {"HOME": str(self.cluster.layout.state / "home")}

    def test_two_commands_bring_the_image_by_a_registry_to_a_node_that_then_offers_its_gpus(self):
        registry = self.registry()
        registry.tell_node()
        self.succeeds("build.sh", ADDRESS, TAG, **self.trust_by_configuration())
        self.assertEqual(registry.requests("containerd"), [])
        # Without the tag: it is the one that was built.
        told = self.succeeds("install.sh", ADDRESS)
        self.assertIn(f"{ADDRESS}/{NAME}:{TAG} runs on 1 of 1 nodes", told)

        pod, = self.agent_pods()
        self.assertEqual(pod["status"]["containerStatuses"][0]["imageID"], f"{ADDRESS}/{NAME}@{digest()}")
        self.assertIn(f"GET /v2/{NAME}/blobs/{layer()}", registry.requests("containerd"))
        self.until_offered(8)
        self.assert_a_pod_gets_a_gpu()

    @extended
    def test_a_registry_on_this_machine_needs_no_option_and_a_profile_reaches_the_agent(self):
        self.registry()
        self.succeeds("build.sh", LOCAL_ADDRESS, TAG)
        said = self.fails("install.sh", "--profile=neither", "--timeout=25s", LOCAL_ADDRESS, TAG)
        self.assertRegex(said, "it ended: .*neither")
        self.succeeds("install.sh", "--profile", "gpushare", LOCAL_ADDRESS, TAG)
        self.until_offered(8 * 40, "aliyun.com/gpu-mem")

    @extended
    def test_plain_http_is_used_only_if_it_is_asked_for(self):
        registry = self.registry()
        said = self.builds_but_cannot_push(ADDRESS)
        self.assertIn(f"{ADDRESS} speaks plain HTTP", said)
        self.assertIn(f"./build.sh --insecure {ADDRESS} {TAG}", said)
        self.assertEqual(registry.requests("skopeo"), [])
        self.succeeds("build.sh", "--insecure", ADDRESS, TAG)
        self.assertIn("GET /v2/", registry.requests("skopeo"))

        # The node was not told, and says so.
        said = self.fails("install.sh", "--timeout=20s", ADDRESS, TAG)
        self.assertIn("it came to run on 0 of 1 nodes", said)
        self.assertIn("ImagePull", said)
        self.assertIn(f"The nodes must be told that {ADDRESS} speaks plain HTTP", said)

    @extended
    def test_a_registry_by_tls_is_pushed_to_if_its_certificate_is_trusted(self):
        self.registry(certificate="apiserver")
        said = self.builds_but_cannot_push(ADDRESS)
        self.assertIn("certificate that is not trusted", said)
        self.assertIn(f"/etc/containers/certs.d/{ADDRESS}/ca.crt", said)
        self.succeeds("build.sh", ADDRESS, TAG, SSL_CERT_FILE=str(self.cluster.layout.certificate("ca")))

    @extended
    def test_a_registry_that_wants_a_password_is_named_with_how_to_give_it(self):
        self.registry(password=True)
        said = self.builds_but_cannot_push("--insecure", ADDRESS)
        self.assertIn(f"skopeo login {ADDRESS}", said)

    @extended
    def test_without_a_registry_the_image_is_kept_and_works_when_it_is_imported(self):
        said = self.builds_but_cannot_push(ADDRESS)
        self.assertIn(f"could not push to {ADDRESS}", said)
        self.assertIn("connection refused", said)
        self.cluster.import_image(ARCHIVE)
        self.succeeds("install.sh", ADDRESS)
        self.until_offered(8)

    def test_without_a_cluster_nothing_is_installed_and_the_manifest_can_be_had(self):
        nowhere = self.cluster.layout.etc / "nowhere.kubeconfig"
        nowhere.write_text(self.cluster.layout.kubeconfig("admin").read_text().replace(
            f"{OUTER.node_address}:443", f"{OUTER.node_address}:9"))
        said = self.fails("install.sh", ADDRESS, TAG, KUBECONFIG=str(nowhere))
        self.assertIn("nothing is installed: no cluster answers", said)
        self.assertIn(f"{OUTER.node_address}:9", said)
        self.assertEqual(self.agent_pods(), [])
        manifest = self.succeeds("install.sh", "--dry-run", ADDRESS, TAG, KUBECONFIG=str(nowhere))
        self.assertIn(f"image: {ADDRESS}/{NAME}:{TAG}\n", manifest)
        self.cluster.checked("kubectl", "apply", "--dry-run=server", "-f", "-", input=manifest)
