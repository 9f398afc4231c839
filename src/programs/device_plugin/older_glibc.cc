// SPDX-License-Identifier: Apache-2.0
//
// Two functions of newer glibc versions, so that the program starts with glibc 2.34 (Ubuntu 22.04,
// RHEL 9, Amazon Linux 2023). We call neither. libstdc++ and libgcc do, which are linked in: they
// were compiled where glibc has both, and would make the program need 2.36 and 2.35.
// tools/check_binary.py holds the version.
//
// Hidden: only the libraries that are linked in use these. The driver's libraries, loaded later,
// keep glibc's own.
//
// Any thread may call them.

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// The names are glibc's, and ELF has addresses as numbers.
// NOLINTBEGIN(performance-no-int-to-ptr,bugprone-reserved-identifier,readability-identifier-naming,cert-dcl37-c,cert-dcl51-cpp)

// glibc 2.36; libstdc++ makes std::random_device of it. It cannot report an error and callers rely
// on its numbers being unpredictable, so it ends the program where the kernel gives none, as
// glibc's does.
extern "C" [[gnu::visibility("hidden")]] std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (true) {
    // Once the kernel's generator is seeded, which getrandom awaits, so few bytes come all at once
    // or not at all.
    const ssize_t got = getrandom(&number, sizeof number, 0);
    if (got == static_cast<ssize_t>(sizeof number)) {
      return number;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    std::fprintf(stderr,
                 "tranche-device-plugin: the kernel gives no random numbers: getrandom failed with "
                 "errno %d\n",
                 errno);
    std::abort();
  }
}

#ifdef DLFO_EH_SEGMENT_TYPE  // glibc's header has the function, so libgcc may call it.
#if DLFO_STRUCT_HAS_EH_DBASE || DLFO_STRUCT_HAS_EH_COUNT
#error "on this machine glibc gives libgcc more than is filled in below"
#endif

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

// The callback of dl_iterate_phdr: 1 ends the search.
int look_into(dl_phdr_info* object, size_t /*size*/, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uintptr_t start = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t unwind_table = 0;
  bool contains = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t to = from + segment.p_memsz;
    if (segment.p_type == PT_LOAD) {
      start = from < start ? from : start;
      end = to > end ? to : end;
      contains = contains || (search.address >= from && search.address < to);
    } else if (segment.p_type == DLFO_EH_SEGMENT_TYPE) {
      unwind_table = from;
    }
  }
  if (!contains) {
    return 0;
  }
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(start);
  search.result->dlfo_map_end = reinterpret_cast<void*>(end);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(unwind_table);
  return 1;
}

}  // namespace

// glibc 2.35; libgcc finds the unwind table of a program counter by it, for every frame of a thrown
// exception. An error is final there: GCC 12's libgcc does not go on to dl_iterate_phdr, so that -1
// for every address would end the program at its first exception. This asks dl_iterate_phdr, as
// libgcc itself does where glibc is older. Of what glibc fills in, the link map is left out,
// because libgcc does not read it.
extern "C" [[gnu::visibility("hidden")]] int _dl_find_object(void* address,
                                                             dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}

#endif
// NOLINTEND(performance-no-int-to-ptr,bugprone-reserved-identifier,readability-identifier-naming,cert-dcl37-c,cert-dcl51-cpp)
