# SPDX-License-Identifier: Apache-2.0
"""Runs the stories that pytest collected in parallel, each worker process with its own cluster.

Stories wait more than they compute, so two clusters on two cores take half the time of one. A worker
keeps its cluster as long as there are stories that it fits. pytest-xdist cannot schedule like this: its
workers start a story only once they know the next one.
"""
import collections
import multiprocessing
import signal
from multiprocessing import connection

import pytest

FORK = multiprocessing.get_context("fork")  # a worker has the collected stories
PRINTER = "stories"  # the plugin that prints


def interrupt(*_):
    """Handles a signal, once: nothing may interrupt the removal of a cluster."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    raise KeyboardInterrupt


def next_story(waiting, running, needs):
    """For a worker whose cluster fits `needs`; None if no story may start beside the running ones."""
    in_use = {item.cls.uses_alone for item in running} - {""}
    able = [item for item in waiting if item.cls.uses_alone not in in_use]
    if not any(item.cls.needs() == needs for item in able):  # a new cluster, for as many as possible
        counts = collections.Counter(item.cls.needs() for item in able)
        needs = max(counts, key=lambda needs: (counts[needs], needs), default=None)
    return next((item for item in able if item.cls.needs() == needs), None)


class Forward:
    """In a worker: sends the reports to the parent, where pytest counts and prints them."""

    def __init__(self, pipe, config):
        self.pipe, self.config = pipe, config

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "call":
            item.user_properties += item.instance.properties().items()
        outcome = yield
        # What pytest prints begins with the exception's type.
        outcome.get_result().reason = str(call.excinfo.value) if call.excinfo else ""

    def pytest_runtest_logreport(self, report):
        self.pipe.send(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))


def work(session, pipe, others, end_cluster):
    """Runs the stories whose numbers come through the pipe, until the parent closes it."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches all; the parent sends SIGTERM
    for other in others:  # only the parent's copy may keep them open
        other.close()
    for name in ("terminalreporter", PRINTER):
        session.config.pluginmanager.unregister(name=name)
    session.config.pluginmanager.register(Forward(pipe, session.config))
    try:
        while True:
            session.config.hook.pytest_runtest_protocol(item=session.items[pipe.recv()], nextitem=None)
            pipe.send(None)
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        end_cluster()


def run(session, count, end_cluster):
    """Runs all stories in `count` workers. A story whose worker dies has failed. Returns the names of the
    workers that failed between stories or could not remove their cluster."""
    workers, waiting, running, needs = {}, list(session.items), {}, {}
    hook = session.config.hook
    for _ in range(min(count, len(waiting))):
        pipe, theirs = multiprocessing.Pipe()
        workers[pipe] = FORK.Process(target=work, args=(session, theirs, [*workers, pipe], end_cluster))
        workers[pipe].start()
        theirs.close()
    free = list(workers)
    try:
        while running or (waiting and free):
            for pipe in list(free):
                item = next_story(waiting, running.values(), needs.get(pipe))
                if item:
                    waiting.remove(item)
                    free.remove(pipe)
                    running[pipe], needs[pipe] = item, item.cls.needs()
                    pipe.send(session.items.index(item))
            for pipe in connection.wait(running):
                try:
                    data = pipe.recv()
                except EOFError:
                    item = running.pop(pipe)
                    workers.pop(pipe).join()
                    hook.pytest_runtest_logreport(report=pytest.TestReport(
                        item.nodeid, item.location, {}, "failed", "the worker process ended", "call"))
                    continue
                if data is None:
                    del running[pipe]
                    free.append(pipe)
                else:
                    hook.pytest_runtest_logreport(
                        report=hook.pytest_report_from_serializable(config=session.config, data=data))
            if not waiting:  # a cluster that nobody needs any more
                for pipe in free:
                    pipe.close()
                free.clear()
    except KeyboardInterrupt:
        for process in workers.values():
            process.terminate()
        raise
    finally:
        for pipe, process in workers.items():
            pipe.close()
            process.join()
    return [process.name for process in workers.values() if process.exitcode]
