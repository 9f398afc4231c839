// SPDX-License-Identifier: Apache-2.0
//
// The name a shared library gives itself (DT_SONAME), which is the name of the
// link that the dynamic loader looks for. Reads a few hundred bytes, not the
// library. Trusts nothing in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tranche::node {

// `size` bytes at `offset`, or fewer at the file's end.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

// Empty when it is not a 64-bit ELF file of this machine's byte order. A
// library that does not name itself goes by `file_name`.
std::optional<std::string> elf_soname(const ReadAt& read_at, const std::string& file_name);

// The same for a file.
std::optional<std::string> elf_soname(const std::string& path);

}  // namespace tranche::node
