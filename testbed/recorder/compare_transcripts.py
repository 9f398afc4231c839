#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says where two transcripts of kubelet-recorder differ in more than chance.

  compare_transcripts.py [--replace REGEX TEXT]… OLD NEW   a unified diff; status 1 if there is any
  compare_transcripts.py [--replace REGEX TEXT]… FILE      the text that is compared

The text has one line a call. What may differ between two runs of one story is
made equal first; each rule stands below with its reason. Status 2: a transcript
cannot be read.

What is left to the story: it does one thing at a time and waits for its effect
(two pods that are made at once are admitted in any order, two changes of health
at once make one list or two), and it stops kubelet, plugin and recorder in the
same order in both runs.
"""
import argparse
import difflib
import hashlib
import json
import re
import sys

# More ids than this say nothing to a reader; the rest is a checksum.
MOST_IDS = 16

STREAM = ("ListAndWatchOpened", "ListAndWatchReceived")
UNARY = ("GetPreferredAllocation", "Allocate", "PreStartContainer")
SESSION = ("Register", "GetDevicePluginOptions", *STREAM, "ListAndWatchEnded", *UNARY)
KUBELET = ("KubeletCame", "KubeletGone")


class TranscriptError(Exception):
    """A transcript that cannot be read, with file and line."""


def checked(event):
    """The event; a ValueError says what is wrong with it."""
    if not isinstance(event, dict) or not isinstance(event.get("n"), int):
        raise ValueError("not an event of kubelet-recorder")
    call = event.get("call")
    if call not in SESSION + KUBELET:
        raise ValueError(f"unknown call {call!r}")
    missing = {"resource", "endpoint", "socket"} - event.keys() if call in SESSION else None
    if missing:
        raise ValueError(f"{call} without {', '.join(sorted(missing))}")
    return event


def load(path):
    """The events of a transcript, in the order in which they began."""
    events = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                events.append(checked(json.loads(line)))
            except ValueError as error:
                raise TranscriptError(f"{path}:{number}: {error}") from error
    # Lines are written at an event's end: the answer to Register races with the
    # opening of the stream and with its first list. By their beginnings they
    # are in order: Register, then what the kubelet does because of it.
    return sorted(events, key=lambda event: event["n"])


class Session:
    """One registration, and all that came through its socket."""

    def __init__(self, resource, life):
        self.resource = resource
        self.life = life  # the number of the kubelet
        self.events = []

    def of(self, *calls):
        return [event for event in self.events if event["call"] in calls]

    def reached_no_kubelet(self):
        # How often a plugin tries while the kubelet is down depends on how long
        # it is down. A kubelet itself answers with neither code.
        codes = [event.get("error", {}).get("code") for event in self.of("Register")]
        return any(code in ("Unavailable", "Canceled") for code in codes) and not self.of(*STREAM)

    def calls(self):
        """The unary calls. The kubelet allocates for one pod after the other, but
        starts containers beside that, so that a PreStartContainer races with the
        calls for the next pod. It is put behind the Allocate of its devices."""
        groups = []
        for event in self.of(*UNARY):
            if event["call"] == "PreStartContainer":
                group = next((group for group in reversed(groups)
                              if group[0]["call"] == "Allocate"
                              and sorted(event["ids"]) in allocated(group[0])), None)
                if group:
                    group.append(event)
                    continue
            groups.append([event])
        return [event for group in groups for event in group]

    def ordered(self):
        """The stream is apart from the calls: gRPC keeps the order within a
        stream and promises none between a stream and a call beside it. What the
        kubelet knew from the lists shows in what it asks with."""
        # A list that the kubelet no longer took was sent into a connection that
        # was ending anyway.
        lists = [event for event in self.of(*STREAM) if event.get("passed_on", True)]
        # The recorder's own end is no part of the story.
        ends = [event for event in self.of("ListAndWatchEnded")
                if event.get("why") != "the recorder ends"]
        return (self.of("Register", "GetDevicePluginOptions") + lists + self.calls() + ends)


def allocated(event):
    return [sorted(container["ids"]) for container in event["containers"]]


def sessions_of(events):
    """The registrations, in order. A kubelet's life is from its coming to the
    next one's: its end is noticed by its streams and by its socket, in any
    order, and belongs to it either way."""
    sessions = {}
    life = 0
    for event in events:
        if event["call"] == "KubeletCame":
            life += 1
        if event["call"] in KUBELET:
            continue
        key = (event["resource"], event["socket"])
        if key not in sessions:
            sessions[key] = Session(event["resource"], life)
        sessions[key].events.append(event)
    return list(sessions.values())


def kubelet_lines(events):
    calls = [event["call"] for event in events if event["call"] in KUBELET]
    # A kubelet that is stopped removes its socket, one that is killed does not:
    # the last end is the story's, not the kubelet's.
    if calls and calls[-1] == "KubeletGone":
        calls.pop()
    return calls


def ids_text(ids):
    # The kubelet keeps ids in sets: their order is random where it sends them,
    # and of no meaning where it receives them.
    ids = sorted(ids)
    shown = " ".join(ids[:MOST_IDS])
    if len(ids) > MOST_IDS:
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:8]
        shown += f" and {len(ids) - MOST_IDS} more #{digest}"
    return f"[{shown}]"


def devices_text(devices):
    """Devices of one health and place together."""
    groups = {}
    for device in devices:
        kind = device["health"]
        if "numa" in device:
            kind += " numa=" + ",".join(map(str, sorted(device["numa"])))
        groups.setdefault(kind, []).append(device["id"])
    healthy = sum(device["health"] == "Healthy" for device in devices)
    return " ".join([f"devices={len(devices)} healthy={healthy}"] +
                    [f"{kind}: {ids_text(ids)}" for kind, ids in sorted(groups.items())])


def options_text(options):
    return " ".join(f"{name}={str(value).lower()}" for name, value in sorted(options.items()))


def pairs_text(pairs, is_shuffled):
    def value_text(value):
        # A plugin that lists ids in a value repeats the kubelet's random order.
        return ",".join(sorted(value.split(","))) if is_shuffled else value
    return "{" + " ".join(f"{name}={value_text(value)}"
                          for name, value in sorted(pairs.items())) + "}"


def grant_text(grant, is_shuffled):
    # In lists as well the order follows that of the ids, and means nothing.
    mounts = sorted(f"{mount['host']}:{mount['container']}:{'ro' if mount['read_only'] else 'rw'}"
                    for mount in grant["mounts"])
    devices = sorted(f"{device['host']}:{device['container']}:{device['permissions']}"
                     for device in grant["devices"])
    return (f"envs={pairs_text(grant['envs'], is_shuffled)} mounts=[{' '.join(mounts)}] "
            f"devices=[{' '.join(devices)}] "
            f"annotations={pairs_text(grant['annotations'], is_shuffled)} "
            f"cdi_devices=[{' '.join(sorted(grant['cdi_devices']))}]")


def question_text(event):
    call, resource = event["call"], event["resource"]
    if call == "Register":
        # Without the socket's name: both sides choose fresh ones.
        options = f" {options_text(event['options'])}" if "options" in event else ""
        return f"Register {resource} version={event['version']}{options}"
    if call.startswith("ListAndWatch"):
        return f"ListAndWatch {resource}"
    if call == "GetPreferredAllocation":
        return " | ".join([f"GetPreferredAllocation {resource}"] + [
            f"available={len(container['available'])} {ids_text(container['available'])} "
            f"must={ids_text(container['must_include'])} size={container['size']}"
            for container in event["containers"]])
    if call == "Allocate":
        return " | ".join([f"Allocate {resource}"] + [
            f"devices={len(container['ids'])} {ids_text(container['ids'])}"
            for container in event["containers"]])
    if call == "PreStartContainer":
        return f"PreStartContainer {resource} devices={len(event['ids'])} {ids_text(event['ids'])}"
    return f"{call} {resource}"


def answer_text(event):
    call = event["call"]
    if call == "ListAndWatchOpened":
        return "opened"
    if call == "ListAndWatchReceived":
        return devices_text(event["devices"])
    if call == "ListAndWatchEnded":
        # When the kubelet goes, its streams' ends race with the recorder's
        # cutting them.
        by_kubelet = event.get("why") == "the kubelet is gone"
        return "ended by the " + ("kubelet" if by_kubelet else event["by"])
    if call == "GetDevicePluginOptions":
        return options_text(event["answer"])
    if call == "GetPreferredAllocation":
        return " | ".join(ids_text(container["ids"])
                          for container in event["answer"]["containers"])
    if call == "Allocate":
        is_shuffled = any(len(container["ids"]) > 1 for container in event["containers"])
        return " | ".join(grant_text(grant, is_shuffled)
                          for grant in event["answer"]["containers"])
    return "OK"


def event_text(event):
    error = event.get("error")
    outcome = f"{error['code']}: {error['message']}" if error else ""
    if event["call"] == "ListAndWatchEnded":
        outcome = answer_text(event) + (f", {outcome}" if error else "")
    line = f"{question_text(event)} -> {outcome or answer_text(event)}"
    # Names of sockets also stand in messages.
    for name in {event["socket"], event["endpoint"]} - {""}:
        line = line.replace(name, "<endpoint>")
    return line.replace("\n", "\\n")


def normalised(events, replacements=()):
    """One line a call; resource by resource, because between resources nothing
    is in order: each has its own connection, and a plugin registers them in any
    order."""
    lines = ["# kubelet", *kubelet_lines(events)]
    sessions = [session for session in sessions_of(events) if not session.reached_no_kubelet()]
    for resource in sorted({session.resource for session in sessions}):
        for session in sessions:
            if session.resource != resource:
                continue
            lines.append(f"# {resource}, kubelet {session.life}")
            lines += [event_text(event) for event in session.ordered()]
    for pattern, text in replacements:
        lines = [pattern.sub(text, line) for line in lines]
    return lines


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--replace", nargs=2, action="append", default=[],
                        metavar=("REGEX", "TEXT"))
    parser.add_argument("files", nargs="+")
    options = parser.parse_args(arguments)
    if len(options.files) > 2:
        parser.error("give two transcripts, or one")
    try:
        replacements = [(re.compile(regex), text) for regex, text in options.replace]
        texts = [normalised(load(path), replacements) for path in options.files]
    except re.error as error:
        print(f"error: --replace: {error}", file=sys.stderr)
        return 2
    except (OSError, TranscriptError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if len(texts) == 1:
        print("\n".join(texts[0]))
        return 0
    difference = list(difflib.unified_diff(*texts, *options.files, lineterm=""))
    print("\n".join(difference), end="\n" if difference else "")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
