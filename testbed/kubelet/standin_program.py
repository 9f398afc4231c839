# SPDX-License-Identifier: Apache-2.0
"""The program kubelet-standin, told what to do command by command."""
import queue
import subprocess
import threading


class Standin:
    """`log` is a text file for its events and complaints."""

    def __init__(self, program, folder, seed, log, patience=60):
        self.log = log
        self.patience = patience
        self.process = subprocess.Popen(
            [str(program), "--dir", str(folder), "--seed", str(seed), "--timeout", str(patience)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1)
        self.answers = queue.Queue()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.checked("node")  # it listens when it answers

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("event: "):
                self.log.write(line)
            else:
                self.answers.put(line.rstrip("\n"))

    def command(self, words):
        """The lines of the answer; the last is ok, or an error."""
        self.process.stdin.write(words + "\n")
        lines = []
        while not lines or (lines[-1] != "ok" and not lines[-1].startswith("error: ")):
            lines.append(self.answers.get(timeout=self.patience + 10))
        return lines

    def checked(self, words):
        """The lines of the answer, without the ok."""
        lines = self.command(words)
        if lines[-1] != "ok":
            raise AssertionError(f"{words}: {lines[-1]}")
        return lines[:-1]

    def stop(self):
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        self.process.wait(self.patience)
        self.reader.join()
        self.process.stdout.close()
