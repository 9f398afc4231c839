# SPDX-License-Identifier: Apache-2.0
"""The nodes on which node labels are compared with NVIDIA's, and every difference with its reason.

docs/node-labels.md has DIFFERENCES as a table; node_labels_test.py holds it to this one.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Difference:
    """One row of the document's table."""
    where: str
    label: str
    ours: str
    theirs: str
    why: str

    def row(self):
        return f"| {self.where} | {self.label} | {self.ours} | {self.theirs} | {self.why} |"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    world: str  # a known one, or a world file's text
    flags: tuple = ()  # of both programs
    config: str = ""  # a file for both
    our_flags: tuple = ()
    # By the key of DIFFERENCES: label to (ours, theirs), None where there is none.
    differs: dict = dataclasses.field(default_factory=dict)

    def expected(self):
        return {label: values for labels in self.differs.values()
                for label, values in labels.items()}

    def varying(self):
        return [label for labels in self.differs.values() for label in labels]


DIFFERENCES = {
    "models": Difference(
        "GPUs of several models", "`gpu.*`", "the model that most GPUs have, on a tie the one "
        "with the lowest GPU number", "one of the models at random, another one each minute",
        "Labels that change move pods and autoscalers (NVIDIA's issue 731)."),
    "lost": Difference(
        "A GPU is lost or does not answer", "all", "stay as they are, and count the GPU",
        "none: the program ends with an error",
        "Labels describe the hardware of the node; health is the device list's."),
    "long": Difference(
        "A model with a long name", "`gpu.product`, `mig-*.product`", "the model is cut so that "
        "all of it has 63 characters", "longer than 63 characters",
        "Kubernetes refuses longer values, and Node Feature Discovery drops the label."),
    "cut-none": Difference(
        "MIG enabled on all GPUs, strategy `none`", "`gpu.replicas`", "the number of shares",
        "0", "The GPUs are offered as a whole."),
    "part": Difference(
        "Compute instances smaller than their GPU instance, strategy `mixed`",
        "`mig-1c.*.replicas`", "0", "1", "They have no resource unless the configuration names one."),
    "single": Difference(
        "Strategy `single`, and not all GPUs are cut alike", "`gpu.product`, `gpu.count`, "
        "`gpu.replicas`, `gpu.memory`, `gpu.sharing-strategy`", "those of the devices that are "
        "offered; `<model>-MIG-INVALID` if there is none", "`<model>-MIG-INVALID`, 0 devices",
        "Tranche serves the layout that most GPUs have, where NVIDIA's plugin exits."),
    "rows": Difference(
        "Only some GPUs are replicated", "`gpu.replicas`", "none", "the number in the file",
        "NVIDIA's programs ignore `devices`. Here GPUs have different numbers, and one label "
        "cannot say both."),
    "memory": Difference(
        "GPUs are shared by memory", "`gpu.replicas`, `gpu.sharing-strategy`",
        "no number; `time-slicing`, or `mps` where MPS limits the shares", "1, `none`",
        "NVIDIA's programs do not know `tranche.policies`. The number of containers on a GPU "
        "depends on what they ask for."),
    "excluded": Difference(
        "GPUs are excluded", "`gpu.*`", "without the excluded ones", "with them",
        "NVIDIA's programs do not know `tranche.excludeDevices`. Pods cannot get these GPUs."),
}

INVALID = "-MIG-INVALID"
A100 = "NVIDIA-A100-SXM4-40GB"
LONG = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition Rev2"


def world(*gpus):
    lines = "\n".join(f"  - {{{gpu}, pci: \"0000:{i + 1:02x}:00.0\"}}"
                      for i, gpu in enumerate(gpus))
    return f"driver: {{version: 580.105.08, cuda: 13.0}}\ngpus:\n{lines}\n"


def sharing(kind, *rows, rename="false"):
    lines = "\n".join(f"      - {{{row}}}" for row in rows)
    return (f"version: v1\nsharing:\n  {kind}:\n    renameByDefault: {rename}\n"
            f"    resources:\n{lines}\n")


GPU4 = "name: nvidia.com/gpu, replicas: 4"
NO_DAEMON = ("--mps-daemons=outside", "--mps-pipe=/nowhere")
SINGLE = ("--mig-strategy=single",)
MIXED = ("--mig-strategy=mixed",)

CASES = (
    Case("eight whole GPUs", "hgx-h200"),
    Case("strategy mixed without MIG", "hgx-h200", MIXED),
    Case("strategy single without MIG", "hgx-h200", SINGLE),
    Case("one GPU in a virtual machine", "t4-single"),
    Case("a fabric that spans nodes", "gb200-tray"),
    Case("GPUs for graphics", world("model: rtx-4090")),
    Case("GPUs for graphics and for compute", world("model: l4, pci_class: 0x030000", "model: l4")),
    Case("a virtual GPU", world("model: l4, virtualization: 2, vgpu_host_driver: 580.82.02, "
                                "vgpu_host_branch: r580_00")),
    Case("MIG, strategy single", "dgx-a100-mig-single", SINGLE),
    Case("MIG, strategy mixed, all cut", "dgx-a100-mig-single", MIXED),
    Case("MIG, strategy none, some cut", "dgx-a100-mig-mixed"),
    Case("MIG, strategy none, all cut", "dgx-a100-mig-single",
         differs={"cut-none": {"gpu.replicas": ("1", "0")}}),
    Case("MIG, strategy mixed", "dgx-a100-mig-mixed", MIXED,
         differs={"part": {"mig-1c.3g.20gb.replicas": ("0", "1"),
                           "mig-2c.3g.20gb.replicas": ("0", "1")}}),
    Case("MIG, strategy single, some cut", "dgx-a100-mig-mixed", SINGLE,
         differs={"single": {"gpu.product": (A100, A100 + INVALID),
                             "gpu.count": ("4", "0"), "gpu.replicas": ("1", "0"),
                             "gpu.memory": ("40960", "0"),
                             "gpu.sharing-strategy": ("none", "")}}),
    Case("MIG, strategy single, several profiles",
         world("model: a100-sxm4-40gb, mig: {layout: [3g.20gb, 1g.5gb]}"), SINGLE),
    Case("MIG, strategy single, no MIG device",
         world("model: a100-sxm4-40gb, mig: {enabled: true}"), SINGLE),
    Case("time slicing", "hgx-h200", config=sharing("timeSlicing", GPU4)),
    Case("time slicing, renamed", "hgx-h200", config=sharing("timeSlicing", GPU4, rename="true")),
    Case("time slicing, strategy single", "dgx-a100-mig-single", SINGLE,
         sharing("timeSlicing", GPU4)),
    Case("time slicing, strategy mixed", "a30-mig", MIXED,
         sharing("timeSlicing", GPU4, "name: nvidia.com/mig-1g.6gb, replicas: 2")),
    Case("time slicing, strategy mixed, renamed", "a30-mig", MIXED,
         sharing("timeSlicing", GPU4, "name: nvidia.com/mig-1g.6gb, replicas: 2", rename="true")),
    Case("MPS", "hgx-h200", config=sharing("mps", GPU4), our_flags=NO_DAEMON),
    Case("MPS, renamed", "hgx-h200", config=sharing("mps", GPU4, rename="true"),
         our_flags=NO_DAEMON),
    Case("a model with a long name", world(f"model: rtx-pro-6000, name: {LONG}"),
         config=sharing("timeSlicing", GPU4),
         differs={"long": {"gpu.product": (
             "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition-SHARED",
             "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition-Rev2-SHARED")}}),
    Case("some GPUs replicated", "hgx-h200",
         config=sharing("timeSlicing", GPU4 + ", devices: [0, 1]"),
         differs={"rows": {"gpu.replicas": (None, "4")}}),
    Case("shared by memory", "hgx-h200",
         config="version: v1\ntranche:\n  policies:\n"
                "    - {resource: nvidia.com/gpu-memory, share: memory, enforcement: none}\n",
         differs={"memory": {"gpu.replicas": (None, "1"),
                             "gpu.sharing-strategy": ("time-slicing", "none")}}),
    Case("excluded GPUs", "hgx-h200",
         config="version: v1\ntranche:\n  excludeDevices: [0, 1]\n",
         differs={"excluded": {"gpu.count": ("6", "8")}}),
)

MIXED_MODELS = Case(
    "GPUs of several models", "mixed-models", MIXED,
    differs={"models": dict.fromkeys(
        ("gpu.product", "gpu.memory", "gpu.family", "gpu.compute.major", "gpu.compute.minor"))})

LOST_GPU = Case("a GPU is lost", "hgx-h200", differs={"lost": {}})
