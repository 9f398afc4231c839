# SPDX-License-Identifier: Apache-2.0
#
# What we link, from Debian 12's packages. The one binary carries everything
# but glibc, so the static archives are named file by file: -lname would take
# the shared ones.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers alone
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# tranche_static(target pkg-config-module [archive to leave out …])
function(tranche_static target module)
  pkg_check_modules(${target} REQUIRED ${module})
  set(archives)
  foreach(name IN LISTS ${target}_STATIC_LIBRARIES)
    if(name IN_LIST ARGN)
      continue()
    endif()
    find_library(archive_${name} NAMES lib${name}.a)
    if(archive_${name})
      list(APPEND archives ${archive_${name}})
    elseif(NOT name MATCHES "^(dl|m|rt|pthread|c|atomic)$")
      message(FATAL_ERROR "no static archive of ${name}, which ${module} needs")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES archives)
  add_library(${target} INTERFACE)
  # A group, because the archives refer to each other in circles.
  target_link_libraries(${target} INTERFACE
    -Wl,--start-group ${archives} -Wl,--end-group Threads::Threads ${CMAKE_DL_LIBS} rt)
endfunction()

# Unix sockets need no TLS, and messages without reflection need only the lite
# runtime: together that halves the binary.
tranche_static(grpc_static grpc++_unsecure systemd)
find_library(PROTOBUF_LITE NAMES libprotobuf-lite.a REQUIRED)
target_link_libraries(grpc_static INTERFACE ${PROTOBUF_LITE})
# What gRPC's archives need besides; Debian's .pc file names only its own.
foreach(name upb address_sorting cares z)
  find_library(archive_${name} NAMES lib${name}.a REQUIRED)
  target_link_libraries(grpc_static INTERFACE ${archive_${name}})
endforeach()

find_library(YAML_CPP NAMES libyaml-cpp.a REQUIRED)
add_library(yaml_static INTERFACE)
target_link_libraries(yaml_static INTERFACE ${YAML_CPP})

# Base64.
tranche_static(absl_static absl_strings)

# TLS to the API server. The archives need each other in this order.
find_library(SSL_ARCHIVE NAMES libssl.a REQUIRED)
find_library(CRYPTO_ARCHIVE NAMES libcrypto.a REQUIRED)
add_library(tls_static INTERFACE)
target_link_libraries(tls_static INTERFACE ${SSL_ARCHIVE} ${CRYPTO_ARCHIVE} Boost::headers
  Threads::Threads ${CMAKE_DL_LIBS})
