# SPDX-License-Identifier: Apache-2.0
"""Configurations of the agent, as values: JSON is YAML."""


def time_slicing(replicas=4, **changes):
    """Each GPU so many times; `changes` are to the section timeSlicing."""
    resources = [{"name": "nvidia.com/gpu", "replicas": replicas}]
    return {"version": "v1", "sharing": {"timeSlicing": {"resources": resources, **changes}}}


def shared_by_mps(replicas):
    """Each GPU so many times, for clients of NVIDIA's mps-control-daemon."""
    return {"version": "v1", "sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}}}
