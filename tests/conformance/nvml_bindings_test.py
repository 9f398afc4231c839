#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's Python bindings, unchanged, on the simulated driver.

  nvml_bindings_test.py TRANCHE_SIM

Each case is a process of its own on a node of its own: the bindings load
libnvidia-ml.so.1 by name, and the loader reads its path once.
"""
import os
import re
import subprocess
import sys

import common

MIB = 1 << 20


def gpus_of_world():
    """What the world says of its GPUs: (uuid, pci, minor) in their order."""
    text = subprocess.run([os.environ["TOOL"], "state", "--root", os.environ["ROOT"]],
                          check=True, text=True, capture_output=True).stdout
    uuids = re.findall(r"^    uuid: (GPU-\S+)$", text, re.M)
    addresses = re.findall(r'^    pci: "([0-9a-f:.]+)"$', text, re.M)
    minors = re.findall(r"^    minor: (\d+)$", text, re.M)
    assert len(uuids) == len(addresses) == len(minors)
    return list(zip(uuids, addresses, map(int, minors)))


def fault(*words):
    subprocess.run([os.environ["TOOL"], "fault", "--root", os.environ["ROOT"], *words], check=True)


def expect(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def expect_error(kind, function, *arguments):
    try:
        value = function(*arguments)
    except n.NVMLError as error:
        assert isinstance(error, n.nvmlExceptionClass(kind)), f"{function.__name__}: {error}"
        return
    raise AssertionError(f"{function.__name__} gave {value!r}")


def field(device, number, scope=0):
    value = n.nvmlDeviceGetFieldValues(device, [(number, scope)])[0]
    if value.nvmlReturn != 0:
        return f"error {value.nvmlReturn}"
    return {1: value.value.uiVal, 3: value.value.ullVal}[value.valueType]


def identity():
    """hgx-h200"""
    gpus = gpus_of_world()
    expect(n.nvmlDeviceGetCount(), len(gpus))
    for index, (uuid, pci, minor) in enumerate(gpus):
        device = n.nvmlDeviceGetHandleByIndex(index)
        expect(n.nvmlDeviceGetUUID(device), uuid)
        expect(n.nvmlDeviceGetIndex(device), index)
        expect(n.nvmlDeviceGetMinorNumber(device), minor)
        expect(n.nvmlDeviceGetPciInfo(device).busId, "0000" + pci.upper())
        ext = n.nvmlPciInfoExt_v1_t()
        ext.version = n.nvmlPciInfoExt_v1
        n.nvmlDeviceGetPciInfoExt(device, n.byref(ext))
        expect((ext.baseClass, ext.subClass), (3, 2))
        expect(n.nvmlDeviceGetName(device), "NVIDIA H200")
        expect(n.nvmlDeviceGetSerial(device), str(1650000000001 + index))
        expect(n.nvmlDeviceGetBoardPartNumber(device), "692-2G520-0282-000")
        expect(n.nvmlDeviceGetBrand(device), n.NVML_BRAND_NVIDIA)
        expect(n.nvmlDeviceGetArchitecture(device), n.NVML_DEVICE_ARCH_HOPPER)
        expect(n.nvmlDeviceGetCudaComputeCapability(device), (9, 0))
        expect(n.nvmlDeviceGetNumGpuCores(device), 16896)
        expect(n.nvmlDeviceGetMultiGpuBoard(device), 0)
        expect(n.nvmlDeviceGetBoardId(device), int(pci[5:7], 16) << 8)
        for found in (n.nvmlDeviceGetHandleByUUID(uuid), n.nvmlDeviceGetHandleByPciBusId(pci)):
            expect(n.nvmlDeviceGetIndex(found), index)
    expect(n.nvmlSystemGetDriverVersion(), "580.105.08")
    expect(n.nvmlSystemGetNVMLVersion(), "13.580.105.08")
    expect(n.nvmlSystemGetCudaDriverVersion(), 13000)
    expect(n.nvmlSystemGetCudaDriverVersion_v2(), 13000)
    expect_error(n.NVML_ERROR_NOT_FOUND, n.nvmlDeviceGetHandleByUUID, "GPU-none")
    expect_error(n.NVML_ERROR_INVALID_ARGUMENT, n.nvmlDeviceGetHandleByIndex, 8)


def memory_and_modes():
    """hgx-h200"""
    device = n.nvmlDeviceGetHandleByIndex(0)
    fault("process", "--gpu", "0", "--pid", "4242", "--name", "train", "--memory-mib", "1000",
          "--sm", "40")
    memory = n.nvmlDeviceGetMemoryInfo(device)
    expect((memory.total, memory.used), (143771 * MIB, 1615 * MIB))
    second = n.nvmlDeviceGetMemoryInfo(device, n.nvmlMemory_v2)
    expect((second.total, second.reserved, second.used), (143771 * MIB, 615 * MIB, 1000 * MIB))
    expect(n.nvmlDeviceGetBAR1MemoryInfo(device).bar1Total, 262144 * MIB)
    expect(n.nvmlDeviceGetComputeMode(device), 0)
    n.nvmlDeviceSetComputeMode(device, n.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
    expect(n.nvmlDeviceGetComputeMode(device), 3)
    expect(n.nvmlDeviceGetPersistenceMode(device), 1)
    expect(n.nvmlDeviceGetEccMode(device), [1, 1])
    expect(n.nvmlDeviceGetTotalEccErrors(device, 0, 0), 0)
    expect(list(n.nvmlDeviceGetRemappedRows(device)), [0, 0, 0, 0])
    expect_error(n.NVML_ERROR_NOT_SUPPORTED, n.nvmlDeviceGetRetiredPagesPendingStatus, device)
    expect(n.nvmlDeviceGetTemperature(device, n.NVML_TEMPERATURE_GPU), 34)
    expect(n.nvmlDeviceGetPowerUsage(device), 70000)
    expect(n.nvmlDeviceGetTotalEnergyConsumption(device), 86400000)
    expect(n.nvmlDeviceGetPcieReplayCounter(device), 0)
    n.nvmlDeviceValidateInforom(device)
    expect(n.nvmlDeviceGetUtilizationRates(device).gpu, 40)
    processes = n.nvmlDeviceGetComputeRunningProcesses(device)
    expect([(p.pid, p.usedGpuMemory, p.gpuInstanceId) for p in processes],
           [(4242, 1000 * MIB, 0xFFFFFFFF)])
    expect(n.nvmlDeviceGetComputeRunningProcesses_v2(device)[0].pid, 4242)
    expect(n.nvmlDeviceGetGraphicsRunningProcesses(device), [])
    expect(n.nvmlDeviceGetMPSComputeRunningProcesses(device), [])
    expect(n.nvmlDeviceGetProcessUtilization(device, 0)[0].smUtil, 40)
    expect(n.nvmlSystemGetProcessName(4242), "train")


def fields():
    """hgx-h200"""
    device = n.nvmlDeviceGetHandleByIndex(0)
    expect(field(device, n.NVML_FI_DEV_NVLINK_LINK_COUNT), 18)
    expect(field(device, n.NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT), 18)
    expect(field(device, n.NVML_FI_DEV_ECC_DBE_VOL_TOTAL), 0)
    expect(field(device, n.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION), 86400000)
    expect(field(device, n.NVML_FI_DEV_PCIE_REPLAY_COUNTER), 0)
    expect(field(device, n.NVML_FI_DEV_REMAPPED_PENDING), 0)
    expect(field(device, n.NVML_FI_DEV_NVLINK_GET_SPEED, 3), 26562)
    expect(field(device, n.NVML_FI_DEV_NVLINK_GET_STATE, 3), 1)
    expect(field(device, n.NVML_FI_DEV_NVLINK_GET_VERSION, 3), 6)
    expect(field(device, n.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION), 0)
    fault("ecc", "--gpu", "0")
    expect(field(device, n.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION), 1)
    expect(field(device, n.NVML_FI_DEV_RESET_STATUS), 1)
    expect(field(device, n.NVML_FI_DEV_ECC_DBE_VOL_TOTAL), 1)
    expect(field(device, n.NVML_FI_DEV_REMAPPED_PENDING), 1)
    expect(n.nvmlDeviceGetTotalEccErrors(device, 1, 0), 1)


def events():
    """hgx-h200"""
    device = n.nvmlDeviceGetHandleByIndex(3)
    wanted = n.nvmlEventTypeXidCriticalError | n.nvmlEventTypeDoubleBitEccError
    expect(n.nvmlDeviceGetSupportedEventTypes(device) & wanted, wanted)
    events = n.nvmlEventSetCreate()
    n.nvmlDeviceRegisterEvents(device, wanted, events)
    expect_error(n.NVML_ERROR_TIMEOUT, n.nvmlEventSetWait_v2, events, 0)
    fault("xid", "--gpu", "3", "--xid", "48", "--gi", "2", "--ci", "0")
    event = n.nvmlEventSetWait_v2(events, 60000)
    expect((event.eventType, event.eventData, event.gpuInstanceId, event.computeInstanceId),
           (n.nvmlEventTypeXidCriticalError, 48, 2, 0))
    expect(n.nvmlDeviceGetIndex(event.device), 3)
    fault("lose", "--gpu", "3")
    expect_error(n.NVML_ERROR_GPU_IS_LOST, n.nvmlEventSetWait_v2, events, 60000)
    expect_error(n.NVML_ERROR_GPU_IS_LOST, n.nvmlDeviceGetName, device)
    n.nvmlEventSetFree(events)


def driver_goes_and_comes():
    """t4-single"""
    n.nvmlShutdown()
    fault("driver", "unload")
    expect_error(n.NVML_ERROR_DRIVER_NOT_LOADED, n.nvmlInit)
    fault("driver", "load")
    n.nvmlInit()
    fault("driver", "mismatch", "--version", "1.2.3")
    n.nvmlShutdown()
    expect_error(n.NVML_ERROR_LIB_RM_VERSION_MISMATCH, n.nvmlInit)
    fault("driver", "load")
    n.nvmlInit()
    expect(n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(0)), "Tesla T4")


def topology():
    """dgx1-v100"""
    devices = [n.nvmlDeviceGetHandleByIndex(i) for i in range(8)]
    buses = [n.nvmlDeviceGetPciInfo(d).busId for d in devices]
    links = {}
    for link in range(6):
        expect(n.nvmlDeviceGetNvLinkState(devices[0], link), 1)
        expect(n.nvmlDeviceGetNvLinkVersion(devices[0], link), 2)
        expect(n.nvmlDeviceGetNvLinkCapability(devices[0], link, n.NVML_NVLINK_CAP_P2P_SUPPORTED), 1)
        expect(n.nvmlDeviceGetNvLinkRemoteDeviceType(devices[0], link), 0)
        remote = n.nvmlDeviceGetNvLinkRemotePciInfo(devices[0], link).busId
        links[buses.index(remote)] = links.get(buses.index(remote), 0) + 1
    expect(links, {1: 1, 2: 1, 3: 2, 4: 2})
    expect(n.nvmlDeviceGetTopologyCommonAncestor(devices[0], devices[1]), n.NVML_TOPOLOGY_SINGLE)
    expect(n.nvmlDeviceGetTopologyCommonAncestor(devices[0], devices[2]), n.NVML_TOPOLOGY_HOSTBRIDGE)
    expect(n.nvmlDeviceGetTopologyCommonAncestor(devices[0], devices[7]), n.NVML_TOPOLOGY_SYSTEM)
    near = n.nvmlDeviceGetTopologyNearestGpus(devices[0], n.NVML_TOPOLOGY_HOSTBRIDGE)
    expect([n.nvmlDeviceGetIndex(d) for d in near], [2, 3])
    expect(n.nvmlDeviceGetP2PStatus(devices[0], devices[3], n.NVML_P2P_CAPS_INDEX_NVLINK), 0)
    expect(n.nvmlDeviceGetCpuAffinity(devices[0], 2)[0], 0x0FFFFF00000FFFFF)
    expect(n.nvmlDeviceGetMemoryAffinity(devices[4], 1, 0)[0], 2)
    expect_error(n.NVML_ERROR_NOT_SUPPORTED, n.nvmlDeviceGetGpuFabricInfo, devices[0],
                 n.byref(n.c_nvmlGpuFabricInfo_t()))


def fabric():
    """gb200-tray"""
    device = n.nvmlDeviceGetHandleByIndex(0)
    first = n.c_nvmlGpuFabricInfo_t()
    n.nvmlDeviceGetGpuFabricInfo(device, n.byref(first))
    expect((first.state, first.cliqueId), (n.NVML_GPU_FABRIC_STATE_COMPLETED, 2))
    third = n.c_nvmlGpuFabricInfo_v3_t()
    third.version = n.nvmlGpuFabricInfo_v3
    n.nvmlDeviceGetGpuFabricInfoV(device, n.byref(third))
    expect((third.state, third.cliqueId, third.healthSummary), (3, 2, 1))
    expect(bytes(third.clusterUuid)[:2], bytes([0x7D, 0x4C]))
    expect(n.nvmlDeviceGetNumaNodeId(device), 2)


def mig():
    """dgx-a100-mig-mixed"""
    whole = n.nvmlDeviceGetHandleByIndex(0)
    expect(n.nvmlDeviceGetMigMode(whole), [0, 0])
    cut = n.nvmlDeviceGetHandleByIndex(5)
    expect(n.nvmlDeviceGetMigMode(cut), [1, 1])
    expect(n.nvmlDeviceGetMaxMigDeviceCount(cut), 7)
    names, instances = [], []
    for index in range(7):
        try:
            device = n.nvmlDeviceGetMigDeviceHandleByIndex(cut, index)
        except n.NVMLError_NotFound:
            continue
        names.append(n.nvmlDeviceGetName(device).split(" MIG ")[1])
        instances.append(n.nvmlDeviceGetGpuInstanceId(device))
        expect(n.nvmlDeviceIsMigDeviceHandle(device).value, 1)
        expect(n.nvmlDeviceGetComputeInstanceId(device), 0)
        parent = n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device)
        expect(n.nvmlDeviceGetIndex(parent), 5)
        uuid = n.nvmlDeviceGetUUID(device)
        expect(n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByUUID(uuid)), uuid)
    expect(names, ["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"])
    # As NVIDIA's guide shows them for this very layout.
    expect(instances, [2, 3, 9, 10])
    device = n.nvmlDeviceGetMigDeviceHandleByIndex(cut, 0)
    attributes = n.nvmlDeviceGetAttributes_v2(device)
    expect((attributes.memorySizeMB, attributes.multiprocessorCount,
            attributes.gpuInstanceSliceCount), (19968, 42, 3))
    expect(n.nvmlDeviceGetMemoryInfo(device).total, 19968 * MIB)
    expect_error(n.NVML_ERROR_NOT_SUPPORTED, n.nvmlDeviceGetUtilizationRates, cut)
    instance = n.nvmlDeviceGetGpuInstanceById(cut, 2)
    info = n.nvmlGpuInstanceGetInfo(instance)
    expect((info.profileId, info.placement.start, info.placement.size), (9, 4, 4))
    compute = n.nvmlComputeInstanceGetInfo_v2(n.nvmlGpuInstanceGetComputeInstanceById(instance, 0))
    expect((compute.profileId, compute.placement.size), (2, 3))
    profile = n.nvmlDeviceGetGpuInstanceProfileInfo(cut, n.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1)
    expect((profile.id, profile.instanceCount, profile.jpegCount), (20, 1, 1))
    expect(n.nvmlDeviceGetGpuInstanceRemainingCapacity(cut, 19), 0)
    part = n.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 0, 0)
    expect((part.sliceCount, part.instanceCount), (1, 3))
    fault("mig-off", "--gpu", "5")
    expect(n.nvmlDeviceGetMigMode(cut), [0, 0])


def memory_limits():
    """l40s"""
    device = n.nvmlDeviceGetHandleByIndex(0)
    limits = n.c_nvmlSetMemoryLimits_v1_t()
    limits.nameSpace, limits.softLimit, limits.hardLimit = b"/kubepods/pod1", 0, 1 << 30
    expect_error(n.NVML_ERROR_NOT_SUPPORTED, n.nvmlDeviceSetMemoryLimits_v1, device, limits)


CASES = [identity, memory_and_modes, fields, events, driver_goes_and_comes, topology, fabric, mig,
         memory_limits]


def run_case(name):
    n.nvmlInit()
    next(case for case in CASES if case.__name__ == name)()
    n.nvmlShutdown()


def main():
    tool = os.path.abspath(sys.argv[1])
    python = common.bindings_python()
    failures = 0
    for case in CASES:
        with common.Node(tool, case.__doc__) as node:
            env = {**os.environ, "TOOL": tool, "ROOT": str(node.root),
                   "LD_LIBRARY_PATH": str(node.library_folder), "CASE": case.__name__}
            done = subprocess.run([python, __file__, tool], env=env)
            print("ok    " if done.returncode == 0 else "FAILED", case.__name__, flush=True)
            failures += done.returncode != 0
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    if "CASE" in os.environ:
        import pynvml as n
        run_case(os.environ["CASE"])
    else:
        main()
