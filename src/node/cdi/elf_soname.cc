// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/elf_soname.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr std::size_t kMaxSegments = 256;
constexpr std::size_t kMaxDynamicEntries = 4096;
constexpr std::size_t kMaxName = 256;

template <typename T>
std::vector<T> read_array(const ReadAt& read_at, std::uint64_t offset, std::size_t count) {
  const std::string bytes = read_at(offset, count * sizeof(T));
  std::vector<T> items(std::min(count, bytes.size() / sizeof(T)));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(T));
  return items;
}

bool is_native_elf64(const Elf64_Ehdr& header) {
  constexpr unsigned char kOurs =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == kOurs &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

// File offset of the byte that is loaded at `address`.
std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments,
                                         std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t inside = address - segment.p_vaddr;
    if (inside < segment.p_filesz) return segment.p_offset + inside;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> value_of(const std::vector<Elf64_Dyn>& entries, Elf64_Sxword tag) {
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return std::nullopt;
}

std::vector<Elf64_Dyn> dynamic_entries(const ReadAt& read_at,
                                       const std::vector<Elf64_Phdr>& segments) {
  const auto dynamic = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == segments.end()) return {};
  const std::size_t count =
      std::min<std::uint64_t>(dynamic->p_filesz / sizeof(Elf64_Dyn), kMaxDynamicEntries);
  return read_array<Elf64_Dyn>(read_at, dynamic->p_offset, count);
}

}  // namespace

std::optional<std::string> elf_soname(const ReadAt& read_at, const std::string& file_name) {
  const auto header = read_array<Elf64_Ehdr>(read_at, 0, 1);
  if (header.empty() || !is_native_elf64(header.front())) return std::nullopt;
  const auto segments = read_array<Elf64_Phdr>(
      read_at, header.front().e_phoff, std::min<std::size_t>(header.front().e_phnum, kMaxSegments));
  const auto entries = dynamic_entries(read_at, segments);

  const auto name = value_of(entries, DT_SONAME);
  if (!name) return file_name;
  const auto table = value_of(entries, DT_STRTAB);
  const auto offset = table ? file_offset(segments, *table + *name) : std::nullopt;
  if (!offset) return std::nullopt;
  const std::string text = read_at(*offset, kMaxName);
  const std::size_t end = text.find('\0');
  // A name with a slash is a path, not a link beside the library.
  std::string soname = text.substr(0, end);
  if (end == std::string::npos || soname.empty() || soname.find('/') != std::string::npos) {
    return std::nullopt;
  }
  return soname;
}

std::optional<std::string> elf_soname(const std::string& path) {
  // Non-blocking, in case the name belongs to a pipe.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return std::nullopt;
  const ReadAt read_at = [&](std::uint64_t offset, std::size_t size) -> std::string {
    std::string bytes(size, '\0');
    if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return {};
    const ssize_t count = ::pread(fd.get(), bytes.data(), size, static_cast<off_t>(offset));
    bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return bytes;
  };
  return elf_soname(read_at, path.substr(path.find_last_of('/') + 1));
}

}  // namespace tranche::node
