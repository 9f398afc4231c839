# SPDX-License-Identifier: Apache-2.0
"""A folder with the driver's files, mounted into GPU pods on nodes without NVIDIA's runtime."""
from .pods import container, pod_of
from .story import GPU, Story

DEFAULT = "/usr/local/nvidia"


def look_at(folder):
    return f"""
echo "told library $(cat {folder}/lib64/libcuda.so.1 2>/dev/null)"
echo "told tool $({folder}/bin/nvidia-smi 2>/dev/null)"
touch {folder}/lib64/new 2>/dev/null && echo "told folder can be changed"
"""


class DriverMounts(Story):
    def driver_folder(self):
        """A folder of the host, with a file to read and one to run."""
        folder = self.cluster.layout.state / "driver-files"
        (folder / "lib64").mkdir(parents=True, exist_ok=True)
        (folder / "lib64/libcuda.so.1").write_text("the driver\n")
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin/nvidia-smi").write_text("#!/bin/sh\necho runs\n")
        (folder / "bin/nvidia-smi").chmod(0o755)
        return folder

    def expect_driver(self, view, folder):
        self.assertEqual((view.told["library"], view.told["tool"]), ("the driver", "runs"))
        self.assertIn("ro", view.mounts[folder][1].split(","))
        self.assertNotIn("folder", view.told)

    def test_a_gpu_pod_sees_the_folder_and_cannot_change_it(self):
        folder = self.driver_folder()
        self.gpus("t4-quad")
        self.agent(f"--host-path={folder}")
        self.until_offered(4)
        self.expect_driver(self.run_pod("one", 1, look=look_at(DEFAULT)), DEFAULT)
        self.assertFalse((folder / "lib64/new").exists())

    def test_the_folder_is_where_the_container_is_to_have_it(self):
        self.gpus("t4-quad")
        self.agent(f"--host-path={self.driver_folder()}", "--container-path=/opt/driver")
        self.until_offered(4)
        view = self.run_pod("one", 1, look=look_at("/opt/driver"))
        self.expect_driver(view, "/opt/driver")
        self.assertNotIn(DEFAULT, view.mounts)

    def test_a_container_without_a_gpu_has_no_such_folder(self):
        self.gpus("t4-quad")
        self.agent(f"--host-path={self.driver_folder()}")
        self.until_offered(4)
        self.create(pod_of("pair", [container("main", {GPU: 1}, look=look_at(DEFAULT)),
                                    container("aside", look=look_at(DEFAULT))]))
        self.expect_driver(self.view("pair"), DEFAULT)
        aside = self.view("pair", "aside")
        self.assertEqual((aside.told["library"], DEFAULT in aside.mounts), ("", False))

    def test_a_library_that_is_updated_is_seen_by_a_pod_that_runs(self):
        folder = self.driver_folder()
        self.gpus("t4-quad")
        self.agent(f"--host-path={folder}")
        self.until_offered(4)
        self.run_pod("one", 1)
        (folder / "lib64/libcuda.so.2").write_text("the next driver\n")
        shown = self.cluster.checked("kubectl", "exec", "one", "--", "cat", f"{DEFAULT}/lib64/libcuda.so.2")
        self.assertEqual(shown, "the next driver\n")

    def test_the_folder_does_not_get_in_the_way_of_cdi(self):
        self.gpus("t4-quad")
        self.agent(f"--host-path={self.driver_folder()}", "--device-list-strategy=cdi-cri",
                   "--cdi-disable-hooks=all")
        self.until_offered(4)
        view = self.run_pod("one", 1, look=look_at(DEFAULT))
        self.expect_driver(view, DEFAULT)
        self.assertIn("/usr/bin/nvidia-smi", view.mounts)
        self.assertEqual(len(view.reachable_minors()), 1)
