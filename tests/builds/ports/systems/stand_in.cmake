# The functions of ESP-IDF's and Zephyr's builds that packaging/ calls. Prints
# the source files and include folders that a component names:
# cmake -DFILE=CMakeLists.txt -P stand_in.cmake

function(idf_component_register)
  cmake_parse_arguments(arg "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES"
    ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  get_filename_component(folder ${FILE} DIRECTORY)
  foreach(name ${arg_SRCS} ${arg_INCLUDE_DIRS})
    message("${folder}/${name}")
  endforeach()
endfunction()

function(zephyr_library_named name)
endfunction()

function(zephyr_library_sources)
  list(JOIN ARGN "\n" lines)
  message("${lines}")
endfunction()

function(zephyr_include_directories)
  list(JOIN ARGN "\n" lines)
  message("${lines}")
endfunction()

include(${FILE})
