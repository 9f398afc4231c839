# SPDX-License-Identifier: Apache-2.0
"""Other systems' deployments with only the image changed, and their users' pods."""
import shutil

from cluster.layout import NODE_NAME

from .pods import container, pod_of
from .story import GPU
from .test_install import MANIFESTS, Installed

IMAGE = "localhost/tranche-device-plugin:0.1.0"
SHARED = "deepomatic.com/shared-gpu"
MEMORY = "aliyun.com/gpu-mem"
DRIVER_FILES = "/home/kubernetes/bin/nvidia"


class Deployed(Installed):
    def deploy(self, name, *labels, **replaced):
        text = (MANIFESTS / name).read_text().replace("IMAGE", IMAGE)
        for word, by in replaced.items():
            text = text.replace(word, by)
        for label in labels:
            self.cluster.checked("kubectl", "label", "node", NODE_NAME, label)
            self.addCleanup(self.cluster.inside, "kubectl", "label", "node", NODE_NAME, label.split("=")[0] + "-")
        self.addCleanup(self.unless_failed, "kubectl", "delete", "-f", "-", "--wait", input=text)
        self.cluster.checked("kubectl", "apply", "-f", "-", input=text)

    def restarts(self):
        return [status["restartCount"] for pod in self.agent_pods() for status in pod["status"]["containerStatuses"]]


class OnGooglesNodes(Deployed):
    """Device nodes in /dev, the driver's files in one folder, and no runtime of NVIDIA's."""

    def setUp(self):
        super().setUp()
        # Writable: what is mounted into a container's /dev, such as a termination log, is made there.
        changes = self.cluster.layout.state / "dev-changes"
        for folder in ("upper", "work"):
            (changes / folder).mkdir(parents=True)
        self.addCleanup(shutil.rmtree, changes)
        self.mounted("/dev", "-t", "overlay", "-o",
                     f"lowerdir=/run/nvidia/driver/dev:/dev,upperdir={changes}/upper,workdir={changes}/work", "overlay")
        for folder in ("pts", "shm"):
            self.mounted(f"/dev/{folder}", "--rbind", f"/proc/1/root/dev/{folder}")
        self.mounted("/home", "-t", "tmpfs", "files")
        self.cluster.checked("mkdir", "-p", f"{DRIVER_FILES}/lib64")

    def mounted(self, place, *words):
        self.cluster.checked("mount", *words, place)
        self.addCleanup(self.cluster.checked, "umount", "-l", place)

    def assert_has_nodes_and_files(self, view, gpus):
        self.assertEqual(len(view.reachable_minors()), gpus)
        self.assertIn("/dev/nvidiactl", view.opens())
        self.assertIn("/dev/nvidia-uvm", view.opens())
        self.assertIn("ro", view.mounts["/usr/local/nvidia"][1].split(","))
        self.assertNotIn("NVIDIA_VISIBLE_DEVICES", view.env)

    def test_deepomatics_daemon_set_lives_in_its_ten_mebibytes(self):
        """No driver library: GPUs are those with a device node."""
        self.deploy("deepomatic.yml", "cloud.google.com/gke-accelerator=nvidia-tesla-a100", f"{SHARED}=true")
        self.until_offered(800, SHARED)
        self.assert_has_nodes_and_files(self.run_pod("one", 1, SHARED), 1)
        self.assert_has_nodes_and_files(self.run_pod("eight", 8, SHARED), 8)
        self.assertEqual(self.restarts(), [0])

    def test_googles_daemon_set_offers_whole_gpus(self):
        self.deploy("gcp.yml", "cloud.google.com/gke-accelerator=nvidia-tesla-a100")
        self.until_offered(8)
        self.assert_has_nodes_and_files(self.run_pod("one", 1, GPU), 1)
        self.assertEqual(self.restarts(), [0])


class GpuShare(Deployed):
    """On nodes whose default runtime is NVIDIA's."""
    default_runtime = "nvidia"

    def test_gpushares_daemon_set_offers_memory_and_tells_containers_of_their_share(self):
        self.deploy("gpushare.yml", "gpushare=true", ARGUMENTS="")
        self.until_offered(8 * 40, MEMORY)
        view = self.run_pod("three", 3, MEMORY)
        self.assertEqual(len(view.visible()), 1)
        told = {name.removeprefix("ALIYUN_COM_GPU_MEM_"): value for name, value in view.env.items()
                if name.startswith("ALIYUN_COM_GPU_MEM_")}
        self.assertEqual(told.pop("IDX"), str(view.reachable_minors()[0]))
        self.assertEqual(told, {"POD": "3", "CONTAINER": "3", "DEV": "40"})
        self.assertNotIn("CUDA_MPS_PIPE_DIRECTORY", view.env)
        self.assertEqual(self.restarts(), [0])

    def test_with_a_pipe_containers_are_sent_to_the_daemon_behind_it(self):
        """--mps-pipe alone must do."""
        self.cluster.checked("mkdir", "-p", "/run/nvidia-mps")
        self.addCleanup(self.cluster.inside, "rm", "-rf", "/run/nvidia-mps")
        self.deploy("gpushare.yml", "gpushare=true", ARGUMENTS=", --mps-pipe=/run/nvidia-mps")
        self.until_offered(8 * 40, MEMORY)
        view = self.run_pod("ten", 10, MEMORY, hostIPC=True)
        self.assertEqual(view.env["CUDA_MPS_PIPE_DIRECTORY"], "/run/nvidia-mps")
        self.assertIn("ro", view.mounts["/run/nvidia-mps"][1].split(","))
        self.assertEqual(view.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25")
        self.assertRegex(view.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "^GPU-[-0-9a-f]*=10240M$")
        self.assertEqual(view.env["TRANCHE_MEMORY_ENFORCEMENT"], "mps")

    def test_a_pod_with_two_gpu_containers_has_two_requests(self):
        self.deploy("gpushare.yml", "gpushare=true", ARGUMENTS="")
        self.until_offered(8 * 40, MEMORY)
        self.create(pod_of("two", [container("main", {MEMORY: 4}), container("other", {MEMORY: 6})]))
        units = {name: self.view("two", name).env["ALIYUN_COM_GPU_MEM_CONTAINER"] for name in ("main", "other")}
        self.assertEqual(units, {"main": "4", "other": "6"})
