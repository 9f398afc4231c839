# SPDX-License-Identifier: Apache-2.0
#
# Sanitized builds read the usual headers once. The release does not: it shows that every
# file includes what it needs.
#   tranche_precompiled(target tranche_module_headers|tranche_test_headers)
#
# ccache takes a precompiled header for the same when the file <header>.sum is the
# same (CCACHE_PCH_EXTSUM). Its content alone would differ from checkout to checkout,
# because it has absolute paths in it. So the sum is over what it is made from: our
# list, the compiler, and the packages that the headers come from.

# Not by target_precompile_headers(REUSE_FROM): ccache takes the absolute path of the
# header's source, which CMake then names too, for a part of the command.
function(tranche_precompiled target headers)
  if(NOT TARGET ${headers})
    return()
  endif()
  set(compiled ${CMAKE_BINARY_DIR}/CMakeFiles/${headers}.dir/cmake_pch.hxx.pch)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${compiled}")
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${compiled})
endfunction()

if(NOT TRANCHE_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  return()
endif()

execute_process(
  COMMAND dpkg-query -W -f "\${Package} \${Version}\n" libstdc++-12-dev libgtest-dev libgmock-dev libc6-dev libfmt-dev
  OUTPUT_VARIABLE packages ERROR_QUIET)

function(tranche_sum headers)
  get_target_property(list ${headers} PRECOMPILE_HEADERS)
  string(SHA256 sum "${list} ${packages} ${CMAKE_CXX_COMPILER_VERSION} ${TRANCHE_SANITIZE} ${TRANCHE_FUZZ}")
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${headers}.dir/cmake_pch.hxx.pch.sum ${sum})
endfunction()

# The time of a header is no part of it.
add_compile_options("SHELL:-Xclang -fno-pch-timestamp")

set(usual <algorithm> <array> <atomic> <chrono> <condition_variable> <filesystem> <fstream> <functional>
    <map> <memory> <mutex> <optional> <ranges> <set> <string> <string_view> <thread> <utility> <variant> <vector>
    <fmt/core.h>)
file(WRITE ${CMAKE_BINARY_DIR}/headers.cc "")

add_library(tranche_module_headers STATIC ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(tranche_module_headers PRIVATE tranche_flags)
target_precompile_headers(tranche_module_headers PRIVATE ${usual})
tranche_sum(tranche_module_headers)

# A program, because programs are compiled otherwise than libraries.
add_executable(tranche_test_headers ${CMAKE_BINARY_DIR}/headers.cc)
target_link_libraries(tranche_test_headers PRIVATE tranche_flags GTest::gmock GTest::gtest_main)
tranche_test_options(tranche_test_headers)
target_precompile_headers(tranche_test_headers PRIVATE ${usual} <gmock/gmock.h> <gtest/gtest.h>)
tranche_sum(tranche_test_headers)
