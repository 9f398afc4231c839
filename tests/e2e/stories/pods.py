# SPDX-License-Identifier: Apache-2.0
"""Pods that look around and say what they see."""
import dataclasses
import re

from cluster.layout import BUSYBOX_IMAGE

# Everything that a plugin can give a container, told by the container itself.
# Opening is what counts: a node that is there may still be closed by the device
# cgroup, and one that was not given can be made, since containers may mknod.
LOOK_AROUND = r"""
env | sort | while read -r line; do echo "env $line"; done
while read -r source target kind options rest; do echo "mount $target $source $options"; done < /proc/self/mounts
try() { if message=$( (: < "$1") 2>&1 ); then echo "$2 opens"; else
  case "$message" in *"No such device"*) echo "$2 opens";; *) echo "$2 denied";; esac; fi; }
for node in $(find /dev -type c -name 'nvidia*' | sort); do try "$node" "node $node"; done
for minor in 0 1 2 3 4 5 6 7 255; do
  rm -f /tmp/node; mknod /tmp/node c 195 $minor && try /tmp/node "made $minor"
done
rm -f /tmp/node
echo "cpus $(grep Cpus_allowed_list /proc/self/status)"
"""
DONE = "echo done\n"


@dataclasses.dataclass
class View:
    """What a container sees."""
    env: dict
    mounts: dict   # target -> (source, options)
    nodes: dict    # path -> "opens" or "denied"
    made: dict     # minor of a node it made itself -> the same
    cpus: str = ""
    told: dict = dataclasses.field(default_factory=dict)  # what a story asked for besides

    def visible(self):
        """The devices that the variable for NVIDIA's runtime names."""
        return self.env["NVIDIA_VISIBLE_DEVICES"].split(",")

    def opens(self):
        return sorted(path for path, how in self.nodes.items() if how == "opens")

    def reachable_minors(self):
        """Of GPUs, by whatever way."""
        return sorted(minor for minor, how in self.made.items() if how == "opens" and minor < 255)


def parse_view(text):
    view = View({}, {}, {}, {})
    for line in text.splitlines():
        what, _, rest = line.partition(" ")
        if what == "env":
            key, _, value = rest.partition("=")
            view.env[key] = value
        elif what == "mount":
            target, source, options = rest.split(" ", 2)
            view.mounts[target] = (source, options)
        elif what == "node":
            path, how = rest.rsplit(" ", 1)
            view.nodes[path] = how
        elif what == "made":
            minor, how = rest.split()
            view.made[int(minor)] = how
        elif what == "cpus":
            view.cpus = re.split(r"\s+", rest)[-1]
        elif what == "told":
            key, _, value = rest.partition(" ")
            view.told[key] = value
    return view


def container(name="main", limits=None, script="", stays=True, look="", first="", **changes):
    """One that looks around, then runs `script`, and then stays or ends.

    `look` is what else it looks at; a line "told KEY VALUE" of it is in the view.
    """
    # The first process of a container ignores signals that it does not handle.
    tail = "\ntrap 'exit 0' TERM\nsleep 1000000 & wait" if stays else ""
    return {
        "name": name, "image": BUSYBOX_IMAGE,
        "command": ["sh", "-c", first + LOOK_AROUND + look + "\n" + DONE + script + tail],
        "resources": {"limits": {key: str(value) for key, value in (limits or {}).items()}},
        **changes,
    }


def pod_of(name, containers, **spec):
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **spec.pop("metadata", {})},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                 "automountServiceAccountToken": False, "enableServiceLinks": False,
                 "dnsPolicy": "Default", "containers": containers, **spec},
    }


def pod(name, limits=None, script="", stays=True, look="", first="", **spec):
    """A pod of one container."""
    main = container("main", limits, script, stays, look, first, **spec.pop("container", {}))
    return pod_of(name, [main], **spec)
