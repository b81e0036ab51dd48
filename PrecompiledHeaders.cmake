# Precompiled headers: what nearly every source file includes of the standard library, Abseil and protobuf (and GoogleTest,
# for tests) is parsed once a build instead of once a file; that halves a cold build.
#
# They hold no header of ours and are made from standard input in the root folder, so their bytes depend on nothing but the
# compiler, its flags and the installed packages: checkouts with the same flags share their objects in ccache.
# CMake's own target_precompile_headers names the checkout in the file and makes one per target.

option(TENSORFLEET_PCH "Use precompiled headers (off: each file must include what it uses)" ON)

# fleet_make_pch(NAME FLAGS...): builds precompiled/NAME.pch from runtime/base/precompiled_NAME.h.
function(fleet_make_pch NAME)
  set(header ${CMAKE_SOURCE_DIR}/runtime/base/precompiled_${NAME}.h)
  set(out ${CMAKE_BINARY_DIR}/precompiled/${NAME}.pch)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}}")
  get_directory_property(options COMPILE_OPTIONS)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/precompiled)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} ${options} ${FLEET_ARCH} -std=c++20 ${ARGN} -Xclang -fno-pch-timestamp
            -fpch-instantiate-templates -x c++-header - -o - < ${header} > ${out}
    DEPENDS ${header} WORKING_DIRECTORY / COMMENT "Precompiling headers: ${NAME}" VERBATIM)
  add_custom_target(precompiled_${NAME} DEPENDS ${out})
endfunction()

# fleet_use_pch(TARGET NAME): TARGET's sources start from precompiled/NAME.pch.
function(fleet_use_pch TARGET NAME)
  if(NOT TARGET precompiled_${NAME})
    return()
  endif()
  add_dependencies(${TARGET} precompiled_${NAME})
  target_compile_options(${TARGET} PRIVATE -Xclang -fno-pch-timestamp
                         "SHELL:-include-pch ${CMAKE_BINARY_DIR}/precompiled/${NAME}.pch")
endfunction()

if(TENSORFLEET_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  fleet_make_pch(library -fPIC)
  fleet_make_pch(test -fPIE -DGTEST_HAS_PTHREAD=1)
endif()
