# llhttp::llhttp: the system's library, or a static one built from the sources that Debian 12's
# node-llhttp package installs.
find_path(LLHTTP_SYSTEM_INCLUDE llhttp.h)
find_library(LLHTTP_SYSTEM_LIBRARY llhttp)
find_path(LLHTTP_SOURCE_INCLUDE llhttp.h PATHS /usr/share/include/llhttp NO_DEFAULT_PATH)
find_path(LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
if(LLHTTP_SYSTEM_INCLUDE AND LLHTTP_SYSTEM_LIBRARY)
  find_package_handle_standard_args(LLHTTP DEFAULT_MSG LLHTTP_SYSTEM_LIBRARY LLHTTP_SYSTEM_INCLUDE)
  if(NOT TARGET llhttp::llhttp)
    add_library(llhttp::llhttp UNKNOWN IMPORTED)
    set_target_properties(llhttp::llhttp PROPERTIES
      IMPORTED_LOCATION ${LLHTTP_SYSTEM_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${LLHTTP_SYSTEM_INCLUDE})
  endif()
else()
  find_package_handle_standard_args(LLHTTP
    REASON_FAILURE_MESSAGE "run scripts/setup: it installs libllhttp-dev, or node-llhttp where that does not exist"
    REQUIRED_VARS LLHTTP_SOURCE_DIR LLHTTP_SOURCE_INCLUDE)
  if(NOT TARGET llhttp_from_source)
    add_library(llhttp_from_source OBJECT ${LLHTTP_SOURCE_DIR}/llhttp.c ${LLHTTP_SOURCE_DIR}/api.c
                ${LLHTTP_SOURCE_DIR}/http.c)
    target_include_directories(llhttp_from_source SYSTEM PUBLIC ${LLHTTP_SOURCE_INCLUDE})
    set_target_properties(llhttp_from_source PROPERTIES POSITION_INDEPENDENT_CODE ON)
    add_library(llhttp::llhttp ALIAS llhttp_from_source)
  endif()
endif()
