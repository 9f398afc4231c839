#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compare_transcripts.py takes for chance, and what for a difference."""
import contextlib
import io
import json
import os
import tempfile
import unittest

import compare_transcripts as compare

GPU = "nvidia.com/gpu"


def event(call, **fields):
    return {"call": call, "resource": GPU, "endpoint": "gpu.sock", "socket": "rec-1-1.sock",
            **fields}


def came():
    return {"call": "KubeletCame"}


def gone():
    return {"call": "KubeletGone"}


def register(**fields):
    return event("Register", version="v1beta1", **fields)


def options(**fields):
    return event("GetDevicePluginOptions", answer={"pre_start_required": False}, **fields)


def opened(**fields):
    return event("ListAndWatchOpened", **fields)


def received(*ids, health="Healthy", **fields):
    return event("ListAndWatchReceived", devices=[{"id": id, "health": health} for id in ids],
                 **fields)


def ended(by, **fields):
    return event("ListAndWatchEnded", by=by, **fields)


def preferred(available, answer, **fields):
    return event("GetPreferredAllocation",
                 containers=[{"available": available, "must_include": [], "size": len(answer)}],
                 answer={"containers": [{"ids": answer}]}, **fields)


def allocate(*ids, envs=None, **fields):
    grant = {"envs": envs or {}, "mounts": [], "devices": [], "annotations": {},
             "cdi_devices": [f"nvidia.com/gpu={id}" for id in ids]}
    return event("Allocate", containers=[{"ids": list(ids)}],
                 answer={"containers": [grant]}, **fields)


def pre_start(*ids):
    return event("PreStartContainer", ids=list(ids), answer={})


BEGIN = (came(), register(), options(), opened(), received("a", "b"))


def text(*events):
    return compare.normalised([{"n": n, **fields} for n, fields in enumerate(events, 1)])


class Transcripts(unittest.TestCase):
    maxDiff = None

    def assert_same(self, one, other):
        self.assertEqual(text(*one), text(*other))

    def assert_differ(self, one, other):
        self.assertNotEqual(text(*one), text(*other))

    def test_have_one_line_a_call(self):
        self.assertEqual(
            text(*BEGIN, preferred(["b", "a"], ["a"]), allocate("a", envs={"X": "1"}),
                 pre_start("a"), ended("plugin", error={"code": "Aborted", "message": "enough"}),
                 gone()),
            ["# kubelet",
             "KubeletCame",
             "# nvidia.com/gpu, kubelet 1",
             "Register nvidia.com/gpu version=v1beta1 -> OK",
             "GetDevicePluginOptions nvidia.com/gpu -> pre_start_required=false",
             "ListAndWatch nvidia.com/gpu -> opened",
             "ListAndWatch nvidia.com/gpu -> devices=2 healthy=2 Healthy: [a b]",
             "GetPreferredAllocation nvidia.com/gpu | available=2 [a b] must=[] size=1 -> [a]",
             "Allocate nvidia.com/gpu | devices=1 [a] -> envs={X=1} mounts=[] devices=[] "
             "annotations={} cdi_devices=[nvidia.com/gpu=a]",
             "PreStartContainer nvidia.com/gpu devices=1 [a] -> OK",
             "ListAndWatch nvidia.com/gpu -> ended by the plugin, Aborted: enough"])

    def test_are_the_same_whatever_the_sockets_are_called(self):
        names = {"endpoint": "x.sock", "socket": "rec-77-9.sock"}
        self.assert_same(
            [came(), register(error={"code": "Unknown", "message": "rec-1-1.sock: gpu.sock"})],
            [came(), register(error={"code": "Unknown", "message": "rec-77-9.sock: x.sock"},
                              **names)])

    def test_are_the_same_whatever_order_ids_were_sent_in(self):
        self.assert_same(
            [*BEGIN, preferred(["a", "b", "c"], ["a", "b"]),
             allocate("a", "b", envs={"VISIBLE": "a,b"})],
            [*BEGIN, preferred(["c", "b", "a"], ["b", "a"]),
             allocate("b", "a", envs={"VISIBLE": "b,a"})])
        self.assert_same([came(), register(), received("a", "b")],
                         [came(), register(), received("b", "a")])

    def test_differ_where_the_order_of_a_value_is_not_the_kubelets(self):
        self.assert_differ([*BEGIN, allocate("a", envs={"CAPABILITIES": "compute,utility"})],
                           [*BEGIN, allocate("a", envs={"CAPABILITIES": "utility,compute"})])

    def test_differ_in_ids_health_values_and_errors(self):
        story = [*BEGIN, allocate("a", envs={"X": "1"})]
        for other in ([*BEGIN, allocate("b", envs={"X": "1"})],
                      [*BEGIN, allocate("a", envs={"X": "2"})],
                      [*BEGIN, event("Allocate", containers=[{"ids": ["a"]}],
                                     error={"code": "Internal", "message": "no"})],
                      [*BEGIN, received("a", "b", health="Unhealthy"),
                       allocate("a", envs={"X": "1"})],
                      list(BEGIN)):
            self.assert_differ(story, other)

    def test_differ_in_ids_beyond_those_shown(self):
        ids = [f"id{number:03}" for number in range(100)]
        self.assert_differ([*BEGIN, received(*ids)], [*BEGIN, received(*ids[:-1], "other")])

    def test_are_the_same_wherever_a_list_comes_between_calls(self):
        news = received("a", "b", health="Unhealthy")
        self.assert_same([*BEGIN, news, allocate("a")], [*BEGIN, allocate("a"), news])
        self.assert_differ([*BEGIN, news, received("a")], [*BEGIN, received("a"), news])

    def test_are_the_same_whenever_a_container_starts(self):
        self.assert_same([*BEGIN, allocate("a"), pre_start("a"), allocate("b"), pre_start("b")],
                         [*BEGIN, allocate("a"), allocate("b"), pre_start("b"), pre_start("a")])
        self.assert_differ([*BEGIN, allocate("a"), allocate("b")],
                           [*BEGIN, allocate("b"), allocate("a")])

    def test_are_the_same_however_a_kubelets_end_is_noticed(self):
        again = [came(), register(socket="rec-1-2.sock")]
        self.assert_same([*BEGIN, ended("kubelet"), gone(), *again],
                         [*BEGIN, gone(), ended("recorder", why="the kubelet is gone"), *again])
        self.assert_differ([*BEGIN, ended("kubelet"), gone(), *again],
                           [*BEGIN, ended("kubelet"), *again[1:]])

    def test_are_the_same_however_often_a_plugin_knocked_in_vain(self):
        def knock(number):
            return register(socket=f"rec-1-{number}.sock",
                            error={"code": "Unavailable", "message": "connection refused"})
        again = [gone(), came(), register(socket="rec-1-9.sock"), opened(socket="rec-1-9.sock")]
        self.assert_same([*BEGIN, ended("kubelet"), *again],
                         [*BEGIN, ended("kubelet"), knock(2), knock(3), *again])

    def test_are_the_same_whether_the_last_kubelet_was_stopped_or_killed(self):
        self.assert_same([*BEGIN, ended("kubelet")], [*BEGIN, ended("kubelet"), gone()])
        self.assert_same(BEGIN, [*BEGIN, ended("recorder", why="the recorder ends")])

    def test_are_compared_resource_by_resource(self):
        nic = {"resource": "example.com/nic", "socket": "rec-1-2.sock"}
        mine = [register(), opened(), received("a")]
        other = [register(**nic), opened(**nic), received("n", **nic)]
        self.assert_same([came(), *mine, *other],
                         [came(), other[0], mine[0], mine[1], other[1], other[2], mine[2]])

    def test_keep_two_registrations_of_a_resource_apart(self):
        second = {"socket": "rec-1-2.sock"}
        self.assertEqual(
            text(came(), register(), opened(), register(**second), ended("kubelet"),
                 opened(**second))[2:],
            ["# nvidia.com/gpu, kubelet 1",
             "Register nvidia.com/gpu version=v1beta1 -> OK",
             "ListAndWatch nvidia.com/gpu -> opened",
             "ListAndWatch nvidia.com/gpu -> ended by the kubelet",
             "# nvidia.com/gpu, kubelet 1",
             "Register nvidia.com/gpu version=v1beta1 -> OK",
             "ListAndWatch nvidia.com/gpu -> opened"])


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, *lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        return path

    def transcript(self, name, *events):
        lines = [json.dumps({"n": n, "at": name, **fields}) for n, fields in enumerate(events, 1)]
        return self.write(name, *reversed(lines))  # the order of lines is not that of events

    @staticmethod
    def run_program(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = compare.main(arguments)
        return status, out.getvalue(), err.getvalue()

    def test_is_silent_where_nothing_differs(self):
        old, new = self.transcript("old", *BEGIN), self.transcript("new", *BEGIN)
        self.assertEqual(self.run_program(old, new), (0, "", ""))

    def test_shows_differences_as_a_unified_diff(self):
        old = self.transcript("old", *BEGIN, allocate("a"))
        new = self.transcript("new", *BEGIN, allocate("b"))
        status, out, _ = self.run_program(old, new)
        self.assertEqual(status, 1)
        self.assertIn(f"--- {old}\n+++ {new}\n", out)
        self.assertIn("\n-Allocate nvidia.com/gpu | devices=1 [a] -> ", out)
        self.assertIn("\n+Allocate nvidia.com/gpu | devices=1 [b] -> ", out)

    def test_replaces_what_it_is_told_to(self):
        old = self.transcript("old", *BEGIN, allocate("a", envs={"TOKEN": "run-12"}))
        new = self.transcript("new", *BEGIN, allocate("a", envs={"TOKEN": "run-345"}))
        self.assertEqual(self.run_program(old, new)[0], 1)
        self.assertEqual(self.run_program("--replace", r"run-\d+", "RUN", old, new)[0], 0)

    def test_shows_the_text_of_one(self):
        status, out, _ = self.run_program(self.transcript("old", *BEGIN))
        self.assertEqual((status, out), (0, "\n".join(text(*BEGIN)) + "\n"))

    def test_names_file_and_line_of_what_it_cannot_read(self):
        good = self.transcript("good", *BEGIN)
        for lines, message in (([json.dumps({"n": 1, **came()}), "{"], "bad:2: "),
                               (['{"n": 1, "call": "Dance"}'], "bad:1: unknown call 'Dance'"),
                               (['{"n": 1, "call": "Allocate"}'], "bad:1: Allocate without "),
                               (["[]"], "bad:1: not an event")):
            status, _, err = self.run_program(good, self.write("bad", *lines))
            self.assertEqual(status, 2)
            self.assertIn(message, err)
        self.assertEqual(self.run_program(good, self.folder + "/none")[0], 2)
        self.assertEqual(self.run_program("--replace", "(", "x", good)[0], 2)


if __name__ == "__main__":
    unittest.main()
