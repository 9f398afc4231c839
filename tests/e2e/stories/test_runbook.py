# SPDX-License-Identifier: Apache-2.0
"""The runbook of docs/health.md, command by command, on a node with a broken GPU."""
import re

from cluster.cluster import until
from cluster.layout import NODE_NAME

from .gpus import DRIVER_ROOT
from .story import GPU, REPOSITORY, SIM
from .story_sets import extended
from .test_install import Installed, MANIFESTS, MIGRATION, SYSTEM_PODS

DOCUMENT = REPOSITORY / "docs/health.md"
STEP = re.compile(r"^\*\*(\d+)\. ([^*]+?)\.?\*\*", re.MULTILINE)
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# As the driver's own: a GPU that somebody is attached to is not reset, and only uuids are taken here.
NVIDIA_SMI = """#!/bin/sh
[ "$1 $2" = "--gpu-reset -i" ] || { echo "nvidia-smi: $*" >&2; exit 2; }
case "$3" in GPU-*) ;; *) echo "not a uuid: $3" >&2; exit 2;; esac
for maps in /proc/[0-9]*/maps; do
  if grep -q libnvidia-ml "$maps" 2>/dev/null; then
    echo "GPU $3 is currently in use by one or more other processes: $maps" >&2; exit 19
  fi
done
""" + f'{SIM} fault --root {DRIVER_ROOT} reset --gpu "$3" && echo "GPU $3 was successfully reset."\n'


def steps():
    """Number, title and commands of each numbered step, in the document's order."""
    section = DOCUMENT.read_text().partition("\n## Runbook: ")[2].partition("\n## ")[0]
    heads = list(STEP.finditer(section))
    ends = [head.start() for head in heads[1:]] + [section.index("\n| what I see")]
    return [(int(head[1]), head[2], BLOCK.findall(section[head.start():end]))
            for head, end in zip(heads, ends)]


class WithShell(Installed):
    """Runs commands of the documents."""

    def put_nvidia_smi(self):
        """Where the node's shell finds it first."""
        folder = self.cluster.layout.state / "runbook"
        folder.mkdir(exist_ok=True)
        (folder / "nvidia-smi").write_text(NVIDIA_SMI)
        (folder / "nvidia-smi").chmod(0o755)
        return folder

    def run_step(self, commands):
        """In one shell over all steps, as a person would: its variables are kept in a file."""
        script = (f'PATH={self.tools}:$PATH; [ ! -f {self.tools}/names ] || . {self.tools}/names\nset -e -o pipefail\n'
                  f'{commands}\nset > {self.tools}/all\n'
                  f'grep -E "^(NODE|NAMESPACE|AGENT|GPU)=" {self.tools}/all > {self.tools}/names\n')
        done = self.cluster.inside("bash", "-c", script, timeout=120)
        self.assertEqual(done.returncode, 0, f"{commands}\n{done.stdout}{done.stderr}")
        return done.stdout


@extended
class Runbook(WithShell):
    def test_every_command_of_the_runbook_brings_a_broken_gpu_back(self):
        gpus = self.gpus("dgx-a100")
        self.install('runtimeClassName="nvidia"')
        self.until_offered(8)
        broken, = self.run_under_nvidia("train-0").reachable_minors()
        uuid = gpus.uuids()[broken]
        self.run_under_nvidia("neighbour", 2)
        gpus.fault("xid", "--gpu", uuid, "--xid", "79", "--route", "both")
        self.until_offered(7, capacity=8)

        self.tools = self.put_nvidia_smi()
        printed = {}
        names = {"NODE=gpu-7 ": f"NODE={NODE_NAME} ", "GPU=GPU-8f1c2a3b-0000-1111-2222-333344445555 ": f"GPU={uuid} "}
        for number, title, blocks in steps():
            for block in blocks:
                for example, real in names.items():
                    if example in block:
                        block = block.replace(example, real)
                        names[example] = None
                names = {example: real for example, real in names.items() if real}
                printed[number] = printed.get(number, "") + self.run_step(block)
            self.check(number, title, printed.get(number, ""), uuid)
        self.assertEqual(sorted(printed), list(range(9)))
        self.assertEqual(names, {}, "the runbook does not use these names")
        self.until_offered(8)
        self.assertEqual(self.phase("neighbour"), "Running")
        self.assertEqual(self.run_under_nvidia("after").reachable_minors(), [broken])

    def check(self, number, title, printed, uuid):
        """What the person sees after each step."""
        expected = {
            1: (f"Node:   {NODE_NAME}", "XID 79", "cleared by: a reset of the GPU", "default/train-0"),
            2: ("cordoned",),
            3: ("default train-0\n", 'pod "train-0"'),
            4: (f"node {NODE_NAME}", uuid, "no pod holds it", "driver closed"),
            5: ("successfully reset",),
            6: (f"node {NODE_NAME}", "driver open", uuid),
            7: ("Health: healthy", f'"{GPU}":"8"'),
            8: ("uncordoned",),
        }.get(number, ())
        for text in expected:
            self.assertIn(text, printed, f"step {number}, {title}")
        if number == 3:  # too early: the agent has the driver open
            early = self.cluster.inside(self.tools / "nvidia-smi", "--gpu-reset", "-i", uuid)
            self.assertIn("currently in use", early.stderr)
        if number == 4:
            self.assertNotIn("neighbour", printed)
            self.restart_the_agent()

    def restart_the_agent(self):
        """A release outlives it; the commands find the new pod by AGENT, which is set again."""
        old = self.agent_pods()[0]["metadata"]["name"]
        self.cluster.api.delete(f"{SYSTEM_PODS}/{old}")
        self.cluster.checked("kubectl", "rollout", "status", "--namespace=kube-system", "--timeout=60s",
                             "daemonset/tranche-tranche-device-plugin")
        self.cluster.checked("kubectl", "wait", "--for=delete", "--namespace=kube-system", "--timeout=60s", f"pod/{old}")
        self.run_step(next(block for number, _, blocks in steps() if number == 0 for block in blocks)
                      .replace("NODE=gpu-7 ", f"NODE={NODE_NAME} "))


@extended
class RunbookAfterMigration(WithShell):
    default_runtime = "nvidia"

    def commands(self):
        """Those of the page on migrating, for NVIDIA's static manifest: there, and back."""
        section = MIGRATION.read_text().partition("\n### NVIDIA's static manifest\n")[2].partition("\n### ")[0]
        return BLOCK.findall(section)

    def test_names_the_agents_pod_its_node_and_pods_after_nvidias_static_manifest_was_patched(self):
        manifest = (MANIFESTS / "nvidia-static.yml").read_text()
        self.cluster.checked("kubectl", "apply", "-f", "-",
                             input=manifest.replace("IMAGE", "localhost/tranche-device-plugin:0.1.0"))
        self.until_offered(8)
        before = self.agent_pods()[0]["metadata"]["uid"]
        there, back = self.commands()
        self.tools = self.put_nvidia_smi()
        self.run_step(f"NODE={NODE_NAME}; cd {self.tools}\n{there}")
        until(lambda: before not in [pod["metadata"]["uid"] for pod in self.agent_pods()], "the old pod's end", 60)
        self.until_offered(8)
        self.run_under_nvidia("train-0")
        names = steps()[0][2][0].replace("NODE=gpu-7 ", f"NODE={NODE_NAME} ")
        shown = self.run_step(f'{names}\nkubectl exec -n "$NAMESPACE" "$AGENT" -- tranche-device-plugin devices')
        self.assertIn(f"Node:   {NODE_NAME}", shown)
        self.assertIn("default/train-0", shown)
        self.run_step(back)
        until(lambda: [pod for pod in self.agent_pods()
                       if "app.kubernetes.io/name" not in pod["metadata"]["labels"]], "the pod as before", 60)
