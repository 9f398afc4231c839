// SPDX-License-Identifier: Apache-2.0
//
// Reads DT_SONAME of a shared library: the name of the link that the dynamic loader looks for.
// Reads a few hundred bytes and trusts nothing in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tranche::node {

// `size` bytes at `offset`, or fewer at the file's end.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

// Empty: not a 64-bit ELF file of this byte order. A library without a soname has `file_name`.
std::optional<std::string> elf_soname(const ReadAt& read_at, const std::string& file_name);

// For a file.
std::optional<std::string> elf_soname(const std::string& path);

}  // namespace tranche::node
