#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes down what a real nvidia-cuda-mps-control says and does, as JSON on standard output.

Run on a machine with one idle NVIDIA GPU, as root. It starts daemons of its own in a folder of its own, changes no
compute mode, and stops what it started. The stand-in (control_standin.cc) answers from what is recorded here.
"""
import ctypes
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

CONTROL = shutil.which("nvidia-cuda-mps-control") or "/usr/bin/nvidia-cuda-mps-control"
LOADER = "/lib64/ld-linux-x86-64.so.2"
CLIENT = pathlib.Path(__file__).with_name("cuda_client.py")
record = {"programs": {}, "episodes": []}


def run(*words, stdin="", env=None, timeout=60):
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout, env=env)
    return {"out": done.stdout, "err": done.stderr, "rc": done.returncode}


class Daemon:
    def __init__(self, name, *flags, folder=None, words=(CONTROL,), visible=None, path=os.environ["PATH"], wait=True):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="mps-"))
        self.folder.chmod(0o755)
        self.pipe, self.log = self.folder / "pipe", self.folder / "log"
        self.pipe.mkdir(exist_ok=True)
        self.log.mkdir(exist_ok=True)
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": str(self.pipe), "CUDA_MPS_LOG_DIRECTORY": str(self.log)}
        env = dict(self.env, PATH=path)
        if visible:
            env["CUDA_VISIBLE_DEVICES"] = visible
        self.episode = {"name": name, "flags": flags, "steps": []}
        record["episodes"].append(self.episode)
        self.process = subprocess.Popen([*words, *flags], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        if wait:
            began = time.monotonic()
            while time.monotonic() - began < 15 and self.process.poll() is None:
                if (self.pipe / "control").exists() and self.ask("get_server_list", keep=False)["rc"] == 0:
                    break
                time.sleep(0.02)
            self.note("came", {"after_s": round(time.monotonic() - began, 3), "exit": self.process.poll()})
            self.files()

    def note(self, what, value):
        self.episode["steps"].append({"what": what, **value})

    def ask(self, text, keep=True, **more):
        answer = run(CONTROL, stdin=text + "\n", env={**self.env, "PATH": os.environ["PATH"]}, **more)
        if keep:
            self.note("ask", {"text": text, **answer})
        return answer

    def files(self):
        found = {}
        for path in sorted(self.pipe.iterdir()):
            status = path.lstat()
            found[path.name] = {"mode": stat.filemode(status.st_mode), "size": status.st_size}
        self.note("files", {"pipe": found, "log": sorted(os.listdir(self.log))})

    def client(self, *words, wait=True, **env):
        process = subprocess.Popen([sys.executable, CLIENT, *words], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT,
                                   env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": str(self.pipe), **env})
        if not wait:
            return process
        out, _ = process.communicate(timeout=120)
        self.note("client", {"words": words, "env": env, "out": out.splitlines(), "rc": process.returncode})
        return out

    def servers(self):
        return [int(word) for word in self.ask("get_server_list", keep=False)["out"].split()]

    def logs(self):
        for path in sorted(self.log.iterdir()):
            self.note("log", {"file": path.name, "text": path.read_text(errors="replace")[-6000:]})

    def processes(self):
        listing = run("ps", "-eo", "pid,ppid,uid,args")["out"].splitlines()
        self.note("processes", {"lines": [line for line in listing if "mps-" in line and "record" not in line]})

    def quit(self):
        self.ask("quit")
        try:
            self.note("exit", {"rc": self.process.wait(20), "out": self.process.stdout.read()})
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.note("exit", {"rc": "did not end"})
        self.files()
        self.logs()


def until_line(process, text):
    for line in process.stdout:
        if text in line:
            return line
    return None


def main():
    smi = run("nvidia-smi", "--query-gpu=uuid,name,driver_version,compute_mode,memory.total", "--format=csv,noheader")["out"]
    record["gpu"] = smi.strip()
    uuid = smi.split(",")[0]
    record["programs"]["ldd"] = {name: run("ldd", name)["out"] for name in (CONTROL, CONTROL.replace("control", "server"))}
    record["programs"]["help"] = run(CONTROL, "--help")
    record["programs"]["help_text"] = None

    daemon = Daemon("one-gpu", "-f", "--multiuser-server", visible=uuid)
    for text in ("help", "get_server_list", "get_default_active_thread_percentage", "get_default_device_pinned_mem_limit 0",
                 "set_default_active_thread_percentage 0", "get_default_active_thread_percentage",
                 "set_default_active_thread_percentage 12.5", "get_default_active_thread_percentage",
                 "set_default_active_thread_percentage 101", "set_default_active_thread_percentage abc",
                 "set_default_active_thread_percentage 100", "get_default_active_thread_percentage",
                 "set_default_device_pinned_mem_limit 0 4096M", "get_default_device_pinned_mem_limit 0",
                 "set_default_device_pinned_mem_limit 0 4500M", "get_default_device_pinned_mem_limit 0",
                 "set_default_device_pinned_mem_limit 0 6G", "get_default_device_pinned_mem_limit 0",
                 f"set_default_device_pinned_mem_limit {uuid} 2G", "get_default_device_pinned_mem_limit 0",
                 "set_default_device_pinned_mem_limit 0 0", "get_default_device_pinned_mem_limit 0",
                 "set_default_device_pinned_mem_limit 7 4G", "get_default_device_pinned_mem_limit 7",
                 "get_server_status 1", "get_client_list 1", "ps", "nonsense", "", "get_default_client_priority",
                 "get_device_client_list", "lspart"):
        daemon.ask(text)
    daemon.client("info")
    daemon.files()
    server = daemon.servers()
    for pid in server[:1]:
        for text in ("get_server_list", f"get_server_status {pid}", f"get_client_list {pid}", "ps",
                     f"get_device_pinned_mem_limit {pid} 0", f"set_device_pinned_mem_limit {pid} 0 8G",
                     f"get_device_pinned_mem_limit {pid} 0", f"get_active_thread_percentage {pid}"):
            daemon.ask(text)
    daemon.processes()
    daemon.client("fill", "3072")
    holder = daemon.client("hold", "512", wait=False, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=2G",
                           CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="25")
    daemon.note("holder", {"line": until_line(holder, "held")})
    for text in ("get_server_list", f"get_client_list {server[0] if server else 1}", "ps",
                 f"get_server_status {server[0] if server else 1}"):
        daemon.ask(text)
    daemon.client("fill", "8192", CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=3G")
    daemon.client("fill", "8192", CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=f"{uuid}=3G")
    daemon.client("info", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="0")
    daemon.client("info", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="0.5")
    daemon.client("info", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="33.3")
    # The server is killed under a client.
    if server:
        os.kill(server[0], signal.SIGKILL)
        time.sleep(1)
        daemon.note("server killed", {"holder": holder.poll()})
        daemon.ask("get_server_list")
        daemon.ask(f"get_server_status {server[0]}")
        holder.stdin.write("touch\n")
        holder.stdin.flush()
        try:
            out, _ = holder.communicate(timeout=30)
            daemon.note("holder after", {"out": out, "rc": holder.returncode})
        except subprocess.TimeoutExpired:
            holder.kill()
            daemon.note("holder after", {"out": "hangs", "rc": None})
        daemon.client("info")
        daemon.ask("get_server_list")
    # shutdown of the server alone, and the daemon killed.
    pids = daemon.servers()
    if pids:
        daemon.ask(f"shutdown_server {pids[0]} -f")
        time.sleep(1)
        daemon.ask("get_server_list")
    holder = daemon.client("hold", "256", wait=False)
    daemon.note("holder", {"line": until_line(holder, "held")})
    daemon.process.kill()
    daemon.process.wait()
    time.sleep(1)
    daemon.processes()
    daemon.files()
    daemon.ask("get_server_list")
    daemon.note("holder with daemon gone", {"poll": holder.poll()})
    holder.stdin.write("touch\n")
    holder.stdin.flush()
    time.sleep(2)
    again = Daemon("same-folder-after-kill", "-f", "--multiuser-server", folder=daemon.folder, visible=uuid)
    again.processes()
    again.ask("get_server_list")
    again.client("info")
    again.ask("get_server_list")
    holder.kill()
    time.sleep(1)
    again.processes()
    second = Daemon("second-on-one-folder", "-f", folder=daemon.folder, visible=uuid, wait=False)
    time.sleep(2)
    second.note("second", {"exit": second.process.poll()})
    if second.process.poll() is None:
        second.process.kill()
    second.note("second said", {"out": second.process.stdout.read()})
    os.kill(again.process.pid, signal.SIGTERM)
    try:
        again.note("SIGTERM", {"rc": again.process.wait(20)})
        again.files()
    except subprocess.TimeoutExpired:
        again.note("SIGTERM", {"rc": "ignored"})
        again.quit()
    again.processes()

    # quit with a client connected: plain, with a time-out.
    busy = Daemon("quit-with-client", "-f", "--multiuser-server", visible=uuid)
    holder = busy.client("hold", "256", wait=False)
    busy.note("holder", {"line": until_line(holder, "held")})
    began = time.monotonic()
    try:
        busy.ask("quit -t 3", timeout=20)
    except subprocess.TimeoutExpired:
        busy.note("quit -t 3", {"rc": "no answer in 20 s"})
    busy.note("quit took", {"seconds": round(time.monotonic() - began, 2), "daemon": busy.process.poll(), "holder": holder.poll()})
    time.sleep(3)
    busy.note("later", {"daemon": busy.process.poll(), "holder": holder.poll()})
    holder.kill()
    time.sleep(2)
    busy.note("holder gone", {"daemon": busy.process.poll()})
    busy.processes()
    if busy.process.poll() is None:
        busy.quit()

    # By the loader, with the server found how?
    libraries = ":".join(sorted({os.path.dirname(os.path.realpath(path)) for path in
                                 glob.glob("/usr/lib/x86_64-linux-gnu/libcuda.so.1") + glob.glob("/lib/x86_64-linux-gnu/libc.so.6")}))
    for name, path in (("loader-with-path", os.path.dirname(CONTROL)), ("loader-without-path", "/nonexistent")):
        by = Daemon(name, "-f", words=(LOADER, "--library-path", libraries, CONTROL), visible=uuid, path=path)
        if by.process.poll() is None:
            by.client("info")
            by.ask("get_server_list")
            by.processes()
            by.quit()

    # A client of a private view: the control socket alone, read-only.
    private = Daemon("control-alone", "-f", "--multiuser-server", visible=uuid)
    alone = tempfile.mkdtemp(prefix="mps-alone-")
    os.chmod(alone, 0o755)
    open(f"{alone}/control", "w").close()
    script = (f"mount --bind {private.pipe}/control {alone}/control && mount -o remount,ro,bind {alone}/control && "
              f"CUDA_MPS_PIPE_DIRECTORY={alone} {sys.executable} {CLIENT} info")
    private.note("control alone", run("unshare", "-m", "sh", "-c", script))
    private.ask("get_server_list")
    private.note("nobody", run("setpriv", "--reuid=65534", "--clear-groups", CONTROL,
                               stdin="set_default_active_thread_percentage 50\n", env=private.env))
    private.note("nobody asks", run("setpriv", "--reuid=65534", "--clear-groups", CONTROL,
                                    stdin="get_server_list\n", env=private.env))
    private.quit()
    # What strace would tell of finding the server.
    text = pathlib.Path(CONTROL).read_bytes()
    words = [word.decode() for word in text.split(b"\0") if b"mps-server" in word and len(word) < 200]
    record["programs"]["names_in_control"] = words
    json.dump(record, sys.stdout, indent=1)


main()
