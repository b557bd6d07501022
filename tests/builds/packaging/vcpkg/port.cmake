# Runs a port as vcpkg does, with these functions in place of vcpkg's own:
#
#   cmake -DPORT_DIR=... -DWORK=... -DVCPKG_LIBRARY_LINKAGE=static
#     "-DFEATURES=extra;..." -P port.cmake
#
# The package is then in WORK/packages.

cmake_minimum_required(VERSION 3.20)
get_filename_component(PORT "${PORT_DIR}" NAME)
set(CURRENT_PACKAGES_DIR "${WORK}/packages")
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)

function(parse)
  cmake_parse_arguments(PARSE_ARGV 0 arg ""
    "SOURCE_PATH;CONFIG_PATH;OUT_FEATURE_OPTIONS"
    "OPTIONS;FEATURES;INVERTED_FEATURES;FILE_LIST")
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(name SOURCE_PATH CONFIG_PATH OUT_FEATURE_OPTIONS OPTIONS FEATURES
      INVERTED_FEATURES FILE_LIST)
    set(arg_${name} "${arg_${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_VARIABLE output)
endfunction()

function(vcpkg_check_features)
  parse(${ARGN})
  set(options)
  foreach(list FEATURES INVERTED_FEATURES)
    while(arg_${list})
      list(POP_FRONT arg_${list} feature option)
      set(present OFF)
      if(feature IN_LIST FEATURES)
        set(present ON)
      endif()
      if((list STREQUAL "FEATURES" AND present)
          OR (list STREQUAL "INVERTED_FEATURES" AND NOT present))
        set(value ON)
      else()
        set(value OFF)
      endif()
      list(APPEND options "-D${option}=${value}")
    endwhile()
  endforeach()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

# The runtime takes a minute with optimisation.
function(vcpkg_cmake_configure)
  parse(${ARGN})
  foreach(config Release Debug)
    set(prefix "${CURRENT_PACKAGES_DIR}")
    if(config STREQUAL Debug)
      string(APPEND prefix /debug)
    endif()
    run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${WORK}/${config}"
      -G Ninja ${arg_OPTIONS} "-DCMAKE_BUILD_TYPE=${config}"
      -DCMAKE_C_FLAGS_RELEASE=-O0 "-DBUILD_SHARED_LIBS=${shared}"
      "-DCMAKE_INSTALL_PREFIX=${prefix}" -DCMAKE_INSTALL_LIBDIR=lib
      -DCMAKE_INSTALL_BINDIR=bin)
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(config Release Debug)
    run("${CMAKE_COMMAND}" --build "${WORK}/${config}" --target install)
  endforeach()
endfunction()

# Moves the files for find_package to share/PORT, one folder less deep.
function(vcpkg_cmake_config_fixup)
  parse(${ARGN})
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  set(debug "${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  file(COPY ${files} DESTINATION "${share}")
  set(up [[get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)]])
  file(READ "${share}/${PORT}Targets.cmake" text)
  string(REPLACE "${up}\n${up}\n${up}" "${up}\n${up}" text "${text}")
  file(WRITE "${share}/${PORT}Targets.cmake" "${text}")
  file(READ "${debug}/${PORT}Targets-debug.cmake" text)
  string(REPLACE "_PREFIX}/lib" "_PREFIX}/debug/lib" text "${text}")
  file(WRITE "${share}/${PORT}Targets-debug.cmake" "${text}")
  foreach(folder "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/debug")
    file(REMOVE_RECURSE "${folder}/lib/cmake")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  foreach(folder "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/debug")
    file(GLOB files "${folder}/lib/pkgconfig/*.pc")
    if(NOT files)
      message(FATAL_ERROR "${folder} has no files of pkg-config")
    endif()
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  parse(${ARGN})
  foreach(file ${arg_FILE_LIST})
    file(READ "${file}" text)
    file(APPEND "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "${text}")
  endforeach()
endfunction()

include("${PORT_DIR}/portfile.cmake")
