// SPDX-License-Identifier: Apache-2.0
//
// A driver root for tests: files, links and device nodes in a folder of their own, and minimal ELF
// libraries with a soname.
#pragma once

#include <elf.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/path.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {

// An ELF file with this DT_SONAME, or without one.
inline std::string elf_with_soname(const std::string& soname) {
  struct Image {
    Elf64_Ehdr header = {};
    Elf64_Phdr segments[2] = {};
    Elf64_Dyn dynamic[3] = {};
  } image;
  constexpr std::uint64_t kAddress = 0x10000;  // not 0: addresses are not offsets
  const std::string strings = std::string(1, '\0') + soname + std::string(1, '\0');

  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = ELFCLASS64;
  image.header.e_ident[EI_DATA] = ELFDATA2LSB;
  image.header.e_phoff = offsetof(Image, segments);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = 2;
  image.segments[0].p_type = PT_LOAD;
  image.segments[0].p_vaddr = kAddress;
  image.segments[0].p_filesz = sizeof image + strings.size();
  image.segments[1].p_type = PT_DYNAMIC;
  image.segments[1].p_offset = offsetof(Image, dynamic);
  image.segments[1].p_filesz = sizeof image.dynamic;
  image.dynamic[0].d_tag = DT_STRTAB;
  image.dynamic[0].d_un.d_val = kAddress + sizeof image;
  image.dynamic[1].d_tag = soname.empty() ? DT_NULL : DT_SONAME;
  image.dynamic[1].d_un.d_val = 1;

  std::string bytes(sizeof image, '\0');
  std::memcpy(bytes.data(), &image, sizeof image);
  return bytes + strings;
}

class FakeRoot {
 public:
  const std::string& path() const { return folder_.path(); }
  std::string path(const std::string& inside) const { return below(folder_.path(), inside); }

  void folder(const std::string& inside) { std::filesystem::create_directories(path(inside)); }

  void file(const std::string& inside, const std::string& content = "", mode_t mode = 0644) {
    folder(parent_of(inside));
    std::ofstream(path(inside), std::ios::binary) << content;
    if (::chmod(path(inside).c_str(), mode) != 0) std::abort();
  }

  void program(const std::string& inside) { file(inside, "#!/bin/sh\n", 0755); }

  void library(const std::string& inside, const std::string& soname) {
    file(inside, elf_with_soname(soname));
  }

  void link(const std::string& inside, const std::string& target) {
    folder(parent_of(inside));
    std::filesystem::create_symlink(target, path(inside));
  }

  // The socket file of a daemon that has ended.
  void socket(const std::string& inside) {
    folder(parent_of(inside));
    if (::mknod(path(inside).c_str(), S_IFSOCK | 0666, 0) != 0) std::abort();
  }

  void node(const std::string& inside, unsigned major, unsigned minor, mode_t mode = 0666,
            gid_t gid = 0) {
    folder(parent_of(inside));
    const std::string where = path(inside);
    if (::mknod(where.c_str(), S_IFCHR | mode, makedev(major, minor)) != 0 ||
        ::chown(where.c_str(), 0, gid) != 0 || ::chmod(where.c_str(), mode) != 0) {
      std::abort();
    }
  }

  // Only root can create device nodes, and not in every container.
  static bool can_make_nodes() {
    const TempDir folder;
    return ::mknod(folder.path("node").c_str(), S_IFCHR | 0600, makedev(195, 0)) == 0;
  }

 private:
  TempDir folder_;
};

}  // namespace tranche::node
