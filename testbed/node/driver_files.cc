// SPDX-License-Identifier: Apache-2.0
//
// The driver package's files. They are dummies with the right names: what looks
// for them goes by name, and none of it loads one but the management library.
#include <algorithm>
#include <string>

#include "testbed/node/host_file_parts.h"

namespace tranche::testbed::sim {
namespace {

// Below the folder for libraries.
std::string library(const std::string& name) { return "/usr/lib/x86_64-linux-gnu/" + name; }

PlainFile dummy(const std::string& path) { return {"simulated driver file: " + path + "\n", 0755}; }

void add_dummy(HostFiles& files, const std::string& path) { files[path] = dummy(path); }

// libx.so.<version>, with the link that its SONAME needs and the plain one.
struct Linked {
  std::string name;
  std::string soname_version = "1";  // empty: no such link
  bool plain = true;
};

void add_library(HostFiles& files, const Linked& linked, const std::string& version) {
  const std::string file = linked.name + "." + version;
  add_dummy(files, library(file));
  std::string last = file;
  if (!linked.soname_version.empty()) {
    last = linked.name + "." + linked.soname_version;
    files[library(last)] = SymLink{file};
  }
  if (linked.plain) files[library(linked.name)] = SymLink{last};
}

void add_libraries(HostFiles& files, const std::string& version) {
  for (const Linked& linked : {Linked{"libcuda.so"},
                               {"libcudadebugger.so", "1", false},
                               {"libnvcuvid.so"},
                               {"libnvidia-allocator.so"},
                               {"libnvidia-cfg.so"},
                               {"libnvidia-encode.so"},
                               {"libnvidia-fbc.so"},
                               {"libnvidia-ngx.so"},
                               {"libnvidia-nvvm.so", "4"},
                               {"libnvidia-opencl.so", "1", false},
                               {"libnvidia-opticalflow.so"},
                               {"libnvidia-ptxjitcompiler.so"},
                               {"libnvidia-sandboxutils.so", "1", false},
                               {"libnvoptix.so", "1", false},
                               {"libEGL_nvidia.so", "0", false},
                               {"libGLX_nvidia.so", "0", false},
                               {"libGLESv1_CM_nvidia.so", "1", false},
                               {"libGLESv2_nvidia.so", "2", false}}) {
    add_library(files, linked, version);
  }
  for (const char* name :
       {"libnvidia-eglcore.so", "libnvidia-glcore.so", "libnvidia-glsi.so",
        "libnvidia-glvkspirv.so", "libnvidia-gpucomp.so", "libnvidia-rtcore.so", "libnvidia-tls.so",
        "libnvidia-pkcs11-openssl3.so", "libnvidia-pkcs11.so", "libnvidia-vksc-core.so"}) {
    add_library(files, {name, "", false}, version);
  }
  files[library("libGLX_indirect.so.0")] = SymLink{"libGLX_nvidia.so." + version};
  add_dummy(files, library("vdpau/libvdpau_nvidia.so." + version));
  files[library("vdpau/libvdpau_nvidia.so.1")] = SymLink{"libvdpau_nvidia.so." + version};
  files[library("gbm/nvidia-drm_gbm.so")] = SymLink{"../libnvidia-allocator.so." + version};
  add_dummy(files, library("libnvidia-egl-wayland.so.1.1.20"));
  files[library("libnvidia-egl-wayland.so.1")] = SymLink{"libnvidia-egl-wayland.so.1.1.20"};
  add_dummy(files, library("libnvidia-egl-gbm.so.1.1.2"));
  files[library("libnvidia-egl-gbm.so.1")] = SymLink{"libnvidia-egl-gbm.so.1.1.2"};
}

// The one library that is real.
void add_management_library(HostFiles& files, const std::string& version) {
  files[library("libnvidia-ml.so." + version)] = DriverLibrary{};
  files[library("libnvidia-ml.so.1")] = SymLink{"libnvidia-ml.so." + version};
  files[library("libnvidia-ml.so")] = SymLink{"libnvidia-ml.so.1"};
}

void add_xorg(HostFiles& files, const std::string& version) {
  const std::string modules = library("nvidia/xorg");
  add_dummy(files, modules + "/nvidia_drv.so");
  add_dummy(files, modules + "/libglxserver_nvidia.so." + version);
  files[modules + "/libglxserver_nvidia.so"] = SymLink{"libglxserver_nvidia.so." + version};
  add_dummy(files, "/usr/share/X11/xorg.conf.d/10-nvidia.conf");
}

void add_registrations(HostFiles& files) {
  const auto icd = [](const std::string& library) {
    return PlainFile{
        "{\n  \"file_format_version\": \"1.0.0\",\n  \"ICD\": {\n    \"library_path\": \"" +
        library + "\"\n  }\n}\n"};
  };
  files["/usr/share/glvnd/egl_vendor.d/10_nvidia.json"] = icd("libEGL_nvidia.so.0");
  files["/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json"] =
      icd("libnvidia-egl-wayland.so.1");
  files["/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json"] =
      icd("libnvidia-egl-gbm.so.1");
  files["/usr/share/vulkan/icd.d/nvidia_icd.json"] = icd("libGLX_nvidia.so.0");
  files["/usr/share/vulkan/implicit_layer.d/nvidia_layers.json"] = icd("libGLX_nvidia.so.0");
  files["/etc/OpenCL/vendors/nvidia.icd"] = PlainFile{"libnvidia-opencl.so.1\n"};
  files["/usr/share/nvidia/nvoptix.bin"] = dummy("nvoptix.bin");
}

// Daemons that run beside the driver leave their sockets.
void add_daemons(HostFiles& files, const World& world) {
  if (std::ranges::any_of(world.gpus, &Gpu::persistence)) {
    files["/run/nvidia-persistenced/socket"] = Socket{};
  }
  if (!world.extras.nvswitches.empty()) files["/run/nvidia-fabricmanager/socket"] = Socket{};
}

}  // namespace

void add_driver_files(HostFiles& files, const World& world) {
  const std::string& version = world.driver.version;
  add_management_library(files, version);
  add_libraries(files, version);
  add_xorg(files, version);
  add_registrations(files);
  add_daemons(files, world);
  for (const char* program :
       {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
        "nvidia-cuda-mps-server", "nvidia-imex", "nvidia-imex-ctl", "nvidia-modprobe"}) {
    add_dummy(files, std::string("/usr/bin/") + program);
  }
  for (const char* firmware : {"gsp_ga10x.bin", "gsp_tu10x.bin"}) {
    add_dummy(files, "/lib/firmware/nvidia/" + version + "/" + firmware);
  }
}

}  // namespace tranche::testbed::sim
