#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A CUDA program without the toolkit, for recording and for tests on real GPUs.

  info             a context, its multiprocessors and its free memory
  fill MIB         allocates 256 MiB blocks until refused or MIB are reached
  fill-async MIB   the same by cuMemAllocAsync;  fill-vmm MIB  by cuMemCreate and cuMemMap
  hold MIB         holds so much; then for each line of standard input touches it and says what came of it
"""
import ctypes
import sys

BLOCK = 256 << 20
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    return getattr(cuda, name)(*arguments)


def checked(name, *arguments):
    code = call(name, *arguments)
    if code:
        print(f"{name}: error {code}", flush=True)
        sys.exit(1)


def context():
    device, made = ctypes.c_int(), ctypes.c_void_p()
    checked("cuInit", 0)
    count = ctypes.c_int()
    checked("cuDeviceGetCount", ctypes.byref(count))
    checked("cuDeviceGet", ctypes.byref(device), 0)
    checked("cuCtxCreate_v2", ctypes.byref(made), 0, device)
    processors = ctypes.c_int()
    checked("cuDeviceGetAttribute", ctypes.byref(processors), 16, device)
    print(f"devices {count.value}, multiprocessors {processors.value}", flush=True)
    return device


def free_memory():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    checked("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value >> 20, total.value >> 20


def by_malloc(_):
    return call("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(BLOCK))


def by_pool(_):
    code = call("cuMemAllocAsync", ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(BLOCK), None)
    return code or call("cuStreamSynchronize", None)


class AllocationProperty(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location_type", ctypes.c_int),
                ("location_id", ctypes.c_int), ("win32", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


def by_mapping(device):
    handle, address = ctypes.c_uint64(), ctypes.c_uint64()
    wanted = AllocationProperty(type=1, location_type=1, location_id=device.value)
    code = call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(BLOCK), ctypes.byref(wanted), ctypes.c_uint64(0))
    code = code or call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(BLOCK), ctypes.c_size_t(0),
                        ctypes.c_uint64(0), ctypes.c_uint64(0))
    return code or call("cuMemMap", address, ctypes.c_size_t(BLOCK), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))


def fill(how, most, device):
    taken, code = 0, 0
    while taken < most and code == 0:
        code = how(device)
        taken += 0 if code else BLOCK >> 20
    print(f"took {taken} MiB, then error {code}", flush=True)


def hold(mib):
    pointer = ctypes.c_uint64()
    checked("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(mib << 20))
    print(f"held {mib} MiB", flush=True)
    for line in sys.stdin:
        code = call("cuMemsetD8_v2", pointer, ctypes.c_ubyte(1), ctypes.c_size_t(1 << 20))
        code = code or call("cuCtxSynchronize")
        print(f"{line.strip()}: error {code}", flush=True)


def main():
    words = sys.argv[1:]
    device = context()
    free, total = free_memory()
    print(f"free {free} MiB of {total} MiB", flush=True)
    if words[0].startswith("fill"):
        how = {"fill": by_malloc, "fill-async": by_pool, "fill-vmm": by_mapping}[words[0]]
        fill(how, int(words[1]), device)
    if words[0] == "hold":
        hold(int(words[1]))


main()
