# SPDX-License-Identifier: Apache-2.0
"""Runs stories beside each other, each worker with a cluster of its own.

Stories wait more than they compute, so that two clusters on two cores take half the
time of one. A worker keeps its cluster for as long as there are stories that it fits.
"""
import collections
import contextlib
import multiprocessing
import os
import signal
import sys
import time

# Stories that use the same thing of the machine say so by this, and run one at a time.
EXCLUSIVE = "uses_alone"


class Queue:
    """Which stories are yet to run; shared by the workers."""

    def __init__(self, tests):
        self.tests = tests
        self.lock = multiprocessing.Lock()
        self.taken = multiprocessing.Array("b", len(tests), lock=False)
        self.things = sorted({getattr(test, EXCLUSIVE) for test in tests if getattr(test, EXCLUSIVE, "")})
        self.in_use = multiprocessing.Array("b", max(1, len(self.things)), lock=False)

    def _may_begin(self, place):
        thing = getattr(self.tests[place], EXCLUSIVE, "")
        return not self.taken[place] and not (thing and self.in_use[self.things.index(thing)])

    def take(self, needs):
        """The next story for a worker whose cluster fits `needs`, or None: none is left that may begin."""
        with self.lock:
            waiting = [place for place in range(len(self.tests)) if self._may_begin(place)]
            if not waiting:
                return None
            fitting = [place for place in waiting if self.tests[place].needs() == needs]
            if not fitting:  # a new cluster, for as many stories as possible
                counts = collections.Counter(self.tests[place].needs() for place in waiting)
                most = max(counts, key=lambda needs: (counts[needs], needs))
                fitting = [place for place in waiting if self.tests[place].needs() == most]
            chosen = self.tests[fitting[0]]
            self.taken[fitting[0]] = 1
            if getattr(chosen, EXCLUSIVE, ""):
                self.in_use[self.things.index(getattr(chosen, EXCLUSIVE))] = 1
            return chosen

    def done(self, test):
        if getattr(test, EXCLUSIVE, ""):
            with self.lock:
                self.in_use[self.things.index(getattr(test, EXCLUSIVE))] = 0

    def is_empty(self):
        with self.lock:
            return all(self.taken)


def tell_stories(queue, new_result, end_cluster, outcomes):
    """A worker's life."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    needs = None
    try:
        while not queue.is_empty():
            test = queue.take(needs)
            if test is None:  # what is left may not begin beside what others are at
                time.sleep(0.2)
                continue
            needs = test.needs()
            result = new_result()
            try:
                test(result)
            finally:
                queue.done(test)
            result.printErrors()
            outcomes.put((result.testsRun, len(result.failures) + len(result.errors), len(result.skipped)))
    finally:
        end_cluster()


def run(tests, count, new_result, end_cluster):
    """(told, failed, skipped) of these stories, by `count` workers. One that dies is a failure."""
    queue, outcomes = Queue(tests), multiprocessing.SimpleQueue()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=tell_stories, args=(queue, new_result, end_cluster, outcomes))
               for _ in range(min(count, len(tests)))]
    sys.stdout.flush()  # else each worker writes what is in the buffer
    for worker in workers:
        worker.start()
    totals = [0, 0, 0]

    def collect():
        while not outcomes.empty():
            for place, number in enumerate(outcomes.get()):
                totals[place] += number
    try:
        while any(worker.is_alive() for worker in workers):
            for worker in workers:
                worker.join(0.2)
            collect()
    except KeyboardInterrupt:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)
        for worker in workers:
            worker.join()
        raise
    collect()
    totals[1] += sum(worker.exitcode != 0 for worker in workers)
    return tuple(totals)
