# SPDX-License-Identifier: Apache-2.0
"""Which plugin the stories are told of, on which kubelet, and which stories do not apply then.

A story is n/a for NVIDIA's plugin for one of these reasons, and no other:
- it is marked here with `only_ours`, with the reason;
- it starts the plugin with a flag that NVIDIA's has not: `FLAGS_OF_OURS` in nvidia_plugin.py;
- it asks the plugin for something that only our program answers: `NvidiaPlugin.command`;
- it starts no plugin at all.
What NVIDIA's plugin can be asked for and does not do is a failure.
"""
import os
import unittest

PLUGIN = os.environ.get("TRANCHE_E2E_PLUGIN", "tranche")    # or "nvidia"
KUBELET = os.environ.get("TRANCHE_E2E_KUBELET", "1.36")     # or "1.33"
IS_OURS = PLUGIN == "tranche"
# Every agent reports at the API server, and cannot reach it.
WITHOUT_API_SERVER = os.environ.get("TRANCHE_E2E_API_SERVER") == "none"


def only_ours(reason):
    """For a story, or a class of them, on what NVIDIA's plugin does not set out to do."""
    return unittest.skipIf(not IS_OURS, reason)


def needs_kubelet(version, reason):
    """For a story on what a kubelet does since a version."""
    older = tuple(map(int, KUBELET.split("."))) < tuple(map(int, version.split(".")))
    return unittest.skipIf(older, f"needs a kubelet of {version}: {reason}")
