# SPDX-License-Identifier: Apache-2.0
"""A device plugin as a plain process on the node."""
import json
import os
import signal
import subprocess

from cluster import configuration
from cluster.cluster import until

from . import under_test
from .gpus import DRIVER_ROOT

# All that the agent reports at the API server without further settings.
REPORTS = ("--gpu-node", "--node-events", "--node-condition=GpusHealthy", "--node-labels=api")


def kubeconfig(cluster, name, server=None, user=None):
    """Writes one, and returns its path. Who says no user is the administrator."""
    content = configuration.kubeconfig(cluster.layout, "admin")
    if server:
        content["clusters"][0]["cluster"]["server"] = server
    if user:
        content["users"][0]["user"] = user
    file = cluster.layout.kubeconfig(name)
    file.write_text(json.dumps(content, indent=1))
    return file


def closed_kubeconfig(cluster):
    """It leads to a port where nobody listens."""
    return kubeconfig(cluster, "closed", server="https://127.0.0.1:1")


class PluginProcess:
    """Any plugin. Its log is one file over all its lives, and the last story's is gone."""
    is_ours = False

    def __init__(self, cluster, program, flags=(), environment=None, name="agent"):
        self.cluster = cluster
        self.flags = list(flags)  # those that the story chose
        self.words = ["/usr/bin/env", *(f"{k}={v}" for k, v in (environment or {}).items()),
                      str(program), *flags]
        self.log_path = cluster.layout.logs / f"{name}.log"
        self.log_path.unlink(missing_ok=True)
        self.process = None
        self.was_stopped = False

    def start(self):
        self.was_stopped = False
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.cluster.command_inside(*self.words),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def signal(self, number):
        """nsenter forks; the plugin is its child."""
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        def child():
            try:
                with open(children, encoding="ascii") as file:
                    return file.read().split()
            except FileNotFoundError:
                return ["ended"]
        pid = until(child, "the plugin's process", 10)[0]
        if pid != "ended":
            os.kill(int(pid), number)

    def kill(self):
        self.was_stopped = True
        self.signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self):
        if self.is_running():
            self.was_stopped = True
            self.signal(signal.SIGTERM)
            self.process.wait(30)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def has_ended(self):
        """By itself."""
        return self.process is not None and self.process.poll() is not None and not self.was_stopped

    def last_words(self):
        # A cluster that was given up has taken the log along.
        lines = self.log().strip().splitlines() if self.log_path.exists() else []
        return f"exit code {self.process.poll()}: {lines[-1] if lines else ''}"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def until_logged(self, text):
        until(lambda: text in self.log(), f"'{text}' in {self.log_path}", 30)


class Agent(PluginProcess):
    """Ours, on the simulated driver if nothing else is said."""
    is_ours = True
    simulated = (f"--driver-root={DRIVER_ROOT}", f"--driver-root-ctr-path={DRIVER_ROOT}", f"--host-root={DRIVER_ROOT}")

    def __init__(self, cluster, program, flags=(), node_flags=simulated):
        self.node_flags = node_flags  # how it finds the driver
        self.program = program
        if under_test.WITHOUT_API_SERVER and not any(flag.startswith("--kubeconfig=") for flag in flags):
            flags = [*flags, *REPORTS, f"--kubeconfig={closed_kubeconfig(cluster)}"]
        super().__init__(cluster, program, [*self.node_flags, *flags])
        self.flags = list(flags)

    def command(self, *words):
        return self.cluster.checked(self.program, *words, *self.node_flags)

    def until_it_misses_the_kubelet(self):
        self.until_logged("the kubelet closed the stream")

    def devices(self):
        return json.loads(self.command("devices", "-o", "json"))

    def resource(self, name):
        """What it says of one of its resources."""
        return next(resource for resource in self.devices()["resources"] if resource["name"] == name)
