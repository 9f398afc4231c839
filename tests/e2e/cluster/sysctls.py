# SPDX-License-Identifier: Apache-2.0
"""The sysctls that a kubelet sets for the whole machine, put back when the last cluster is gone.

Several clusters may run at once, of one run or of several. The first one's start
saves the values, and the end of the last one that is alive restores them.
"""
import contextlib
import fcntl
import json
import os
import pathlib

NAMES = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
         "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
FILE = pathlib.Path("/run/tranche-e2e-sysctls.json")


def values():
    return {name: pathlib.Path("/proc/sys", name).read_text() for name in NAMES}


def locked():
    """The record, open and locked. One that was removed before we had the lock is of no use."""
    while True:
        file = open(FILE, "a+", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(file.fileno()).st_ino == os.stat(FILE).st_ino:
                return file
        file.close()


@contextlib.contextmanager
def record():
    """{"users": states of clusters, "values": what to restore}, for the one who has it."""
    with locked() as file:
        file.seek(0)
        text = file.read()
        found = json.loads(text) if text else {"users": [], "values": {}}
        yield found
        if not found["users"]:
            FILE.unlink()
            return
        file.seek(0)
        file.truncate()
        file.write(json.dumps(found))
        file.flush()


def save_for(state, is_alive):
    """Before the kubelet of the cluster in this state folder starts."""
    with record() as saved:
        saved["users"] = [user for user in saved["users"] if user != str(state) and is_alive(user)]
        if not saved["users"]:
            saved["values"] = saved["values"] or values()
        saved["users"].append(str(state))


def restore_for(state, is_alive):
    """After the end of the cluster."""
    with record() as saved:
        if str(state) not in saved["users"]:
            return
        saved["users"] = [user for user in saved["users"] if user != str(state) and is_alive(user)]
        if saved["users"]:
            return
        for name, value in saved["values"].items():
            path = pathlib.Path("/proc/sys", name)
            if path.read_text() != value:
                path.write_text(value)
