# SPDX-License-Identifier: Apache-2.0
"""Sockets in the network of a node, from outside.

A socket belongs for good to the network namespace in which it was made. So a
thread enters a node's for that one call, and any number of clusters can be
talked to at the same time.
"""
import contextlib
import ctypes
import os
import socket

CLONE_NEWNET = 0x40000000


def enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "entering a network namespace")


@contextlib.contextmanager
def network_of(pid):
    """For this thread."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        theirs = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            enter(theirs)
        finally:
            os.close(theirs)
        try:
            yield
        finally:
            enter(own)
    finally:
        os.close(own)


def open_socket(pid, address, port, timeout):
    """A connection from within the network of a process."""
    with network_of(pid):
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.settimeout(timeout)
        opened.connect((address, port))
    except OSError:
        opened.close()
        raise
    return opened
