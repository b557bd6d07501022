# Not yet run by vcpkg: the tests have stand-ins of its functions. Builds the
# sources that this port lies in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.."
  ABSOLUTE)

# A feature adds what an option of tvmffi.h leaves out.
vcpkg_check_features(OUT_FEATURE_OPTIONS options
  FEATURES
    debug TVMFFI_DEBUG
  INVERTED_FEATURES
    backtrace TVMFFI_NO_BACKTRACE
    builtins TVMFFI_NO_BUILTINS
    containers TVMFFI_NO_CONTAINERS
    dlopen TVMFFI_NO_DLOPEN
    extra TVMFFI_NO_EXTRA
    float TVMFFI_NO_FLOAT
    metadata TVMFFI_NO_METADATA
    pool TVMFFI_NO_POOL
    reflection TVMFFI_NO_REFLECTION
    stdio TVMFFI_NO_STDIO
    threads TVMFFI_NO_THREADS
    types TVMFFI_NO_TYPES)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tvmffi)
vcpkg_fixup_pkgconfig()

# gdb's script names the library's folder of the build.
file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/gdb")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage"
  DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST
  "${SOURCE_PATH}/LICENSE"
  "${SOURCE_PATH}/LICENSE-APACHE"
  "${SOURCE_PATH}/LICENSE-MIT")
