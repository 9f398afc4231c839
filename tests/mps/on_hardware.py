#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MPS supervisor on a real GPU.

  python3 tests/mps/on_hardware.py TRANCHE-MPS-TRIAL [PART...]

Run as root on a machine with one idle NVIDIA GPU of 64 GiB or more. Starts a daemon in a folder of its own, sends clients
through the folder that containers get, kills what can be killed, stops, and looks whether anything is left. Changes no
compute mode. Prints a line for each thing checked; the exit code is the number of those that failed.
Parts: limits, threads, raise, hold, root, restart, adopt, loader, stop. All by default. "hold" and "root" are attacks on the
daemon through the clients' socket: a connection that stays silent for a minute, and root's commands.
"""
import contextlib
import glob
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

CLIENT = pathlib.Path(__file__).with_name("cuda_client.py")
LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64")
failed = 0


def check(what, holds, seen=""):
    global failed
    failed += not holds
    print(f"{'ok    ' if holds else 'FAILED'} {what}{f'  [{seen}]' if seen != '' else ''}", flush=True)
    return holds


class Trial:
    """The trial program: its reports as they come, and words to it."""

    def __init__(self, binary, directory, root, uuid, mib):
        self.uuid, self.directory = uuid, pathlib.Path(directory)
        self.process = subprocess.Popen([binary, directory, root, f"{uuid}={mib}"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.reports, self.last = queue.Queue(), {"daemons": []}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.reports.put(json.loads(line))

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def daemon(self):
        return self.last["daemons"][0] if self.last["daemons"] else {}

    def wait(self, holds, seconds=90):
        """The daemon's report that has it, or None; time is only the bound."""
        end = time.monotonic() + seconds
        while not (self.last["daemons"] and holds(self.daemon())):
            try:
                self.last = self.reports.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                return None
        return self.daemon()

    def wait_ready(self, restarts=0):
        return self.wait(lambda daemon: daemon["state"] == "ready" and daemon["restarts"] >= restarts)

    def end(self, word):
        self.say(word)
        self.process.stdin.close()
        return self.process.wait(120)


def client(trial, *words, **env):
    """A CUDA process as a container has it: the clients' folder and its own environment."""
    done = subprocess.run([sys.executable, CLIENT, *words], capture_output=True, text=True, timeout=300, env={
        **os.environ, "CUDA_MPS_PIPE_DIRECTORY": trial.daemon()["client_view"], **env})
    return done.stdout + done.stderr


def number_after(text, word):
    parts = text.replace(",", " ").split()
    return int(parts[parts.index(word) + 1]) if word in parts else -1


def processes():
    """MPS programs and canaries; by whole words, since the shell that started us may speak of them."""
    found = []
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = pathlib.Path(file).read_bytes().decode(errors="replace").split("\0")
            if any(os.path.basename(word).startswith("nvidia-cuda-mps-") or word == "mps-canary" for word in words[:4]
                   if " " not in word):
                found.append(f"{file.split('/')[2]} {' '.join(words)}")
    return found


def check_limits(trial):
    trial.say(f"held {trial.uuid} {40 << 10}")
    for how in ("fill", "fill-async", "fill-vmm"):
        for gib in (20, 40):
            limit = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={gib << 10}M"}
            out = client(trial, how, str(64 << 10), **limit)
            took = number_after(out, "took")
            # The context is part of the limit; the last block did not fit.
            check(f"{how} is held to {gib} GiB", (gib - 2) << 10 <= took <= gib << 10 and "error 2" in out,
                  out.splitlines()[-1] if out else "no output")
    out = client(trial, "fill", str(64 << 10))
    check("a client without a limit of its own is held to the largest share, 40 GiB",
          38 << 10 <= number_after(out, "took") <= 40 << 10, out.splitlines()[-1] if out else "no output")


def check_threads(trial):
    whole = number_after(client(trial, "info"), "multiprocessors")
    for percentage in ("50", "12.5"):
        out = client(trial, "info", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=percentage)
        seen, share = number_after(out, "multiprocessors"), whole * float(percentage) / 100
        check(f"{percentage} percent of {whole} multiprocessors", 0 < seen <= share + 8 and seen < whole, seen)


def check_raise(trial):
    """A running server takes a larger limit, and goes on with the same clients."""
    trial.say(f"held {trial.uuid} {4 << 10}")
    with holding(trial, 1024) as holder:
        small = number_after(client(trial, "fill", str(64 << 10)), "took")
        trial.say(f"held {trial.uuid} {8 << 10}")
        end = time.monotonic() + 20
        large = small
        while large <= 4 << 10 and time.monotonic() < end:
            large = number_after(client(trial, "fill", str(64 << 10)), "took")
        check("a limit of 4 GiB holds", small <= 4 << 10, small)
        check("and 8 GiB without a restart", 6 << 10 <= large <= 8 << 10 and trial.daemon()["restarts"] == 0, large)
        check("the neighbour noticed nothing", touch(holder) == 0)


@contextlib.contextmanager
def holding(trial, mib):
    process = subprocess.Popen([sys.executable, CLIENT, "hold", str(mib)], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": trial.daemon()["client_view"]})
    for line in process.stdout:
        if "held" in line:
            break
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def touch(holder):
    try:
        holder.stdin.write("touch\n")
        holder.stdin.flush()
        return number_after(holder.stdout.readline(), "error")
    except BrokenPipeError:
        return -1


SILENT = """
import os, socket, sys, time
os.setgid(65534); os.setuid(65534)
at = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
at.connect(sys.argv[1])
print("connected", flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def silent_connection(trial):
    """Somebody else's process, as it may be in a container: no child of ours, another uid, a network of its own."""
    socket_path = trial.daemon()["client_view"] + "/control"
    process = subprocess.Popen(["unshare", "--net", sys.executable, "-c", SILENT, socket_path], text=True,
                               stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def check_hold(trial):
    """One silent connection to the control socket: the neighbour goes on computing, the daemon stays, the holder is named, and
    its connection ended after 10 s, the holder itself not."""
    before = trial.daemon()
    with holding(trial, 512) as holder:
        with silent_connection(trial) as silent:
            named = f"process {silent.pid} ("
            began, errors, touches = time.monotonic(), 0, 0
            seen = trial.wait(lambda daemon: daemon["state"] == "in trouble" and named in daemon["problem"], 60)
            check("the holder of the connection is named", seen is not None and "uid 65534" in seen["problem"],
                  f"{time.monotonic() - began:.1f} s: {trial.daemon()['problem']}")
            ended, said = None, []
            while time.monotonic() - began < 60:
                errors, touches = errors + (touch(holder) != 0), touches + 1
                if trial.wait(lambda daemon: said.append(daemon["problem"]) or daemon["state"] == "ready", 0.1) and not ended:
                    ended = time.monotonic() - began
                time.sleep(0.1)
            check("a client computes for a minute, while the connection is held and after", errors == 0, f"{touches} times")
            check("the connection is ended and the daemon ready, with the holder alive",
                  ended is not None and silent.poll() is None and any("the agent closed the connection" in one for one in said),
                  f"{ended} s")
            check("the daemon is not restarted", trial.daemon()["restarts"] == before["restarts"] and
                  trial.daemon()["pid"] == before["pid"], trial.daemon()["restarts"])
        began = time.monotonic()
        check("it is ready again without the holder", trial.wait_ready() is not None, f"{time.monotonic() - began:.1f} s")
        check("the client noticed nothing", touch(holder) == 0)
    check("the daemon is the same", trial.daemon()["pid"] == before["pid"])


def command(trial, line):
    """As root in a container can: by the clients' socket alone."""
    with tempfile.TemporaryDirectory(prefix="mps-root-client-") as folder:
        os.link(trial.daemon()["client_view"] + "/control", folder + "/control")
        done = subprocess.run(["nvidia-cuda-mps-control"], input=line + "\n", capture_output=True, text=True, timeout=60,
                              env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": folder})
        return (done.stdout + done.stderr).strip()


def check_root(trial):
    """Root lifts the limit and ends a neighbour's client: both are reported, and the limit is back soon."""
    trial.say(f"held {trial.uuid} {4 << 10}")
    with holding(trial, 512) as holder:
        server = trial.wait(lambda daemon: daemon["server_pid"] != 0)["server_pid"]
        small = number_after(client(trial, "fill", str(64 << 10)), "took")
        check("a limit of 4 GiB holds", 0 < small <= 4 << 10, small)
        said = command(trial, f"set_device_pinned_mem_limit {server} 0 32G")
        print(f"note   root sets the server's limit to 32 GiB: {said!r}", flush=True)
        seen = trial.wait(lambda daemon: "set_device_pinned_mem_limit" in daemon["foreign_command"], 30)
        check("the command is reported", seen is not None, trial.daemon()["foreign_command"])
        end, took = time.monotonic() + 30, 64 << 10
        while took > 4 << 10 and time.monotonic() < end:
            took = number_after(client(trial, "fill", str(64 << 10)), "took")
        check("the limit is set back", 0 < took <= 4 << 10, took)
        seen = trial.wait(lambda daemon: str(holder.pid) in map(str, daemon["root_clients"]), 30)
        check("clients that run as root are named", seen is not None, trial.daemon()["root_clients"])
        said = command(trial, f"terminate_client {server} {holder.pid}")
        print(f"note   root ends a client: {said!r}; its next call gives {touch(holder)}", flush=True)
        seen = trial.wait(lambda daemon: "terminate_client" in daemon["foreign_command"], 30)
        check("the command is reported too", seen is not None, trial.daemon()["foreign_command"])
    check("the daemon was not restarted", trial.daemon()["restarts"] == 0, trial.daemon()["restarts"])
    out = client(trial, "info")
    check("the next client gets through", "multiprocessors" in out, out.strip().replace("\n", "; "))


def check_restart(trial):
    before = trial.daemon()
    view = os.open(before["client_view"], os.O_RDONLY | os.O_DIRECTORY)
    inode = os.stat("control", dir_fd=view).st_ino
    for what, pid in (("the control daemon", before["pid"]), ("the control daemon, again", None)):
        restarts = trial.daemon()["restarts"]
        began = time.monotonic()
        os.kill(pid or trial.daemon()["pid"], signal.SIGKILL)
        back = trial.wait_ready(restarts + 1)
        check(f"{what} is killed and back", back is not None, f"{time.monotonic() - began:.1f} s")
    check("a container's mount has the new socket", os.stat("control", dir_fd=view).st_ino != inode)
    os.close(view)
    out = client(trial, "info")
    check("a client gets through again", "multiprocessors" in out, out.strip().replace("\n", "; "))
    # The server alone, under the daemon: the next client gets a new one.
    os.kill(trial.daemon()["server_pid"], signal.SIGKILL)
    # The daemon may still send a client to the one that is gone; it is told so, and tries again.
    end, told = time.monotonic() + 20, []
    while time.monotonic() < end and not (told and "multiprocessors" in told[-1]):
        told.append(client(trial, "info").strip().replace("\n", "; "))
    check("a killed server is replaced for the next client", "multiprocessors" in told[-1], " | ".join(told))


def check_adopt(binary, trial, root, mib):
    before = trial.daemon()["pid"]
    with holding(trial, 512) as holder:
        check("the agent leaves", trial.end("leave") == 0)
        check("the client goes on without an agent", touch(holder) == 0)
        again = Trial(binary, str(trial.directory), root, trial.uuid, mib)
        found = again.wait_ready()
        check("the next agent adopts the daemon", found is not None and found["adopted"] and found["pid"] == before)
        check("the client noticed nothing", touch(holder) == 0)
    return again


def note_strays():
    """What CUDA does where there is no daemon behind the socket, or no socket: not ours to decide, but to know."""
    with tempfile.TemporaryDirectory(prefix="mps-stray-") as folder:
        for what in ("no socket", "a socket that nobody listens at"):
            if what != "no socket":
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(f"{folder}/control")
            done = subprocess.run([sys.executable, CLIENT, "info"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": folder})
            print(f"note   a client with {what}: {done.stdout.strip()!r}", flush=True)


def check_stop(trial):
    with holding(trial, 512):
        began = time.monotonic()
        check("it stops though a client stays", trial.end("stop") == 0, f"{time.monotonic() - began:.1f} s")
    check("no process is left", not processes(), "; ".join(processes()))
    check("no file is left", not list(trial.directory.iterdir()), [str(path) for path in trial.directory.iterdir()])


def make_driver_root(folder):
    """A driver root as a driver container has it: programs, libraries and a loader of its own."""
    root = pathlib.Path(folder)
    (root / "usr/bin").mkdir(parents=True)
    (root / "lib64").mkdir()
    for name in ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"):
        shutil.copy(shutil.which(name), root / "usr/bin")
    shutil.copy(os.path.realpath("/lib64/ld-linux-x86-64.so.2"), root / "lib64/ld-linux-x86-64.so.2")
    for pattern in ("libcuda.so.1", "libnvidia-*.so.*", "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1",
                    "libpthread.so.0", "libgcc_s.so.1"):
        for library in LIBRARIES:
            for path in glob.glob(f"{library}/{pattern}"):
                if not (root / "lib64" / os.path.basename(path)).exists():
                    shutil.copy(os.path.realpath(path), root / "lib64" / os.path.basename(path))
    return str(root)


def check_loader(binary, uuid, mib):
    with tempfile.TemporaryDirectory(prefix="mps-root-") as folder, tempfile.TemporaryDirectory(prefix="mps-") as directory:
        os.chmod(directory, 0o755)
        trial = Trial(binary, directory, make_driver_root(folder + "/root"), uuid, mib)
        found = trial.wait_ready()
        if check("a daemon of another driver root is ready", found is not None, trial.daemon().get("problem", "")):
            for what, pid in (("daemon", found["pid"]), ("server", trial.daemon()["server_pid"])):
                maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
                check(f"its {what} has that root's C library", f"{folder}/root/lib64/libc.so.6" in maps)
            check("a client gets through", "multiprocessors" in client(trial, "info"))
        trial.end("stop")
        check("nothing of it is left", not processes() and not os.listdir(directory), os.listdir(directory))


def main():
    binary = os.path.abspath(sys.argv[1])
    parts = sys.argv[2:] or ["limits", "threads", "raise", "hold", "root", "restart", "adopt", "stop", "loader"]
    query = subprocess.run(["nvidia-smi", "--query-gpu=uuid,name,driver_version,compute_mode,memory.total",
                            "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True).stdout
    uuid, name, driver, mode, mib = [word.strip() for word in query.splitlines()[0].split(",")]
    print(f"{name}, driver {driver}, {mib} MiB, compute mode {mode}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mps-") as directory:
        os.chmod(directory, 0o755)
        began = time.monotonic()
        trial = Trial(binary, directory, "/", uuid, mib)
        if not check("the daemon is ready", trial.wait_ready() is not None, f"{time.monotonic() - began:.1f} s"):
            print(trial.last)
            trial.end("stop")
            return failed
        check("containers see the clients' socket alone", os.listdir(trial.daemon()["client_view"]) == ["control"])
        for part, function in (("limits", check_limits), ("threads", check_threads), ("raise", check_raise),
                               ("hold", check_hold), ("root", check_root), ("restart", check_restart)):
            if part in parts:
                function(trial)
        if "adopt" in parts:
            trial = check_adopt(binary, trial, "/", mib)
        check_stop(trial)
    note_strays()
    if "loader" in parts:
        check_loader(binary, uuid, mib)
    print(f"{failed} failed", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 100))
