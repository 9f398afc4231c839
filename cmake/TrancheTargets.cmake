# SPDX-License-Identifier: Apache-2.0
#
# How our own code is compiled, and the two words the folders use:
#   tranche_module(name [FAST] SOURCES … DEPENDS …)   one static library a folder
#   tranche_test(name SOURCES … DEPENDS … LABELS … INCLUDES … DEFINES … RUNS …)
#     its tests, one program

add_library(tranche_flags INTERFACE)
target_compile_options(tranche_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual
  # Option structs are filled by name; what is left out keeps its default.
  -Wno-missing-field-initializers)
if(TRANCHE_WERROR)
  target_compile_options(tranche_flags INTERFACE -Werror)
endif()
target_include_directories(tranche_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
# Messages; header-only, so that nothing more is linked.
target_link_libraries(tranche_flags INTERFACE fmt::fmt-header-only)
# Which ring sees which: the names of the table in it.
target_compile_options(tranche_flags INTERFACE "SHELL:-include ${CMAKE_SOURCE_DIR}/src/rings.h")

if(TRANCHE_SANITIZE)
  add_compile_options(-fsanitize=${TRANCHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TRANCHE_SANITIZE})
  if(TRANCHE_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # The driver's functions are found by name and called by types of our own.
    add_compile_options(-fno-sanitize=function)
  endif()
  if(TRANCHE_FUZZ)
    # For the fuzzers' sake, in the same objects that the tests use: compiling them
    # a second time takes longer than the tests lose by it.
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
else()
  # The release hardening; the sanitizers have checks of their own. tools/check_binary.py
  # looks for it in what comes out.
  add_compile_options(-fstack-protector-strong)
  include(CheckCXXCompilerFlag)
  include(CheckCXXSourceCompiles)
  # Control flow: the first is x86-64's, the second aarch64's.
  foreach(flag -fcf-protection=full -mbranch-protection=standard -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "TRANCHE_HAS_${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      add_compile_options(${flag})
    endif()
  endforeach()
  # Level 3 also checks sizes that are known only when the program runs.
  check_cxx_source_compiles("
    #if !__has_builtin(__builtin_dynamic_object_size)
    #error no level 3
    #endif
    int main() {}" TRANCHE_HAS_FORTIFY_3)
  set(fortify 2)
  if(TRANCHE_HAS_FORTIFY_3)
    set(fortify 3)
  endif()
  # Some compilers have a level of their own.
  add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${fortify}>")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
# Small where speed does not matter: most of it runs once, or every few seconds, and
# all of it stays in memory on every node. What answers the kubelet's calls is fast.
add_compile_options($<$<CONFIG:RelWithDebInfo>:-Os>)
function(tranche_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O2>)
endfunction()
# What a program does not reach is not shipped with it.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)

function(tranche_module name)
  cmake_parse_arguments(MODULE "FAST" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(tranche_${name} STATIC ${MODULE_SOURCES})
  if(MODULE_FAST)
    tranche_fast(tranche_${name})
  endif()
  target_link_libraries(tranche_${name} PUBLIC tranche_flags ${MODULE_DEPENDS})
  tranche_precompiled(tranche_${name} tranche_module_headers)
endfunction()

# Undefined behaviour is looked for in what is tested. In tests themselves, full of
# expectations, it is a third of the time to compile them.
function(tranche_test_options target)
  if(TRANCHE_SANITIZE MATCHES undefined)
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
  if(TRANCHE_FUZZ)
    target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

# All test programs, and with them only what they need.
add_custom_target(tranche_tests)

# Every case is a ctest of its own, named as it reads: Suite.StatesAFact.
# Under the thread sanitizer there is none that links gRPC, which is not instrumented
# and would drown a race of ours in its own reports.
function(tranche_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPENDS;LABELS;INCLUDES;DEFINES;RUNS" ${ARGN})
  if(TRANCHE_SANITIZE STREQUAL "thread" AND "grpc" IN_LIST TEST_LABELS)
    return()
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  add_dependencies(tranche_tests ${name})
  target_link_libraries(${name} PRIVATE tranche_flags ${TEST_DEPENDS} GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${TEST_INCLUDES})
  target_compile_definitions(${name} PRIVATE ${TEST_DEFINES})
  tranche_test_options(${name})
  tranche_precompiled(${name} tranche_test_headers)
  if(TEST_RUNS)  # programs and libraries that it runs rather than links
    add_dependencies(${name} ${TEST_RUNS})
  endif()
  set(properties TIMEOUT ${TEST_TIMEOUT})
  if(TEST_LABELS)
    list(APPEND properties LABELS "${TEST_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
endfunction()

# A libFuzzer program beside a parser; built only with TRANCHE_FUZZ.
# Its corpus, if it has one, is tests/fuzz/corpus/<name>.
if(TRANCHE_FUZZ)
  add_custom_target(tranche_fuzzers)
endif()
function(tranche_fuzzer name)
  if(NOT TRANCHE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(FUZZ "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${FUZZ_SOURCES})
  target_link_libraries(${name} PRIVATE tranche_flags ${FUZZ_DEPENDS} -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
  add_dependencies(tranche_fuzzers ${name})
endfunction()
