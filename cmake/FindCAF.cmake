# CAF::core: libcaf_core 0.17 or 1.x. Debian's package ships no CMake file of its own.
# CAF_ROOT names another prefix to look in first.
find_path(CAF_INCLUDE_DIR caf/actor_system.hpp)
find_library(CAF_CORE_LIBRARY caf_core)
if(CAF_INCLUDE_DIR)
  # CAF_VERSION counts major * 10000 + minor * 100 + patch; 1.x has it in build_config or config.
  file(STRINGS ${CAF_INCLUDE_DIR}/caf/config.hpp CAF_VERSION_LINE REGEX "define CAF_VERSION [0-9]+")
  string(REGEX REPLACE ".*CAF_VERSION ([0-9]+).*" "\\1" CAF_VERSION_NUMBER "${CAF_VERSION_LINE}")
  if(CAF_VERSION_NUMBER MATCHES "^[0-9]+$")
    math(EXPR CAF_VERSION_MAJOR "${CAF_VERSION_NUMBER} / 10000")
    math(EXPR CAF_VERSION_MINOR "${CAF_VERSION_NUMBER} / 100 % 100")
    math(EXPR CAF_VERSION_PATCH "${CAF_VERSION_NUMBER} % 100")
    set(CAF_VERSION ${CAF_VERSION_MAJOR}.${CAF_VERSION_MINOR}.${CAF_VERSION_PATCH})
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_CORE_LIBRARY CAF_INCLUDE_DIR VERSION_VAR CAF_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup: it installs libcaf-dev")
if(CAF_FOUND AND NOT TARGET CAF::core)
  add_library(CAF::core UNKNOWN IMPORTED)
  set_target_properties(CAF::core PROPERTIES IMPORTED_LOCATION ${CAF_CORE_LIBRARY})
  target_include_directories(CAF::core SYSTEM INTERFACE ${CAF_INCLUDE_DIR})
endif()
