// SPDX-License-Identifier: Apache-2.0
//
// Debian's libyaml-cpp.a is compiled for programs, not for shared libraries: it
// reaches this one variable of glibc in a way that only a definition inside the
// same file satisfies. So the library has one of its own, which says "there may
// be other threads". That is always right; it only forgoes a shortcut.
extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
[[gnu::visibility("hidden")]] char __libc_single_threaded = 0;
}
