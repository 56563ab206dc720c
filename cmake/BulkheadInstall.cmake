# The library that an embedder links, bulkhead::bulkhead, and how it is installed: headers, CMake
# package, pkg-config file. The layers below cli/ and fixtures/ are in it.
include(CMakePackageConfigHelpers)
set(BULKHEAD_LAYERS runtime tls http actors supervision)
set(BULKHEAD_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/bulkhead)

# -- the library ------------------------------------------------------------------------------

add_library(bulkhead)
add_library(bulkhead::bulkhead ALIAS bulkhead)
foreach(layer ${BULKHEAD_LAYERS})
  target_sources(bulkhead PRIVATE $<TARGET_OBJECTS:bulkhead_${layer}>)
endforeach()
if(TARGET llhttp_from_source)
  # No package has these objects, so they travel inside our library.
  target_sources(bulkhead PRIVATE $<TARGET_OBJECTS:llhttp_from_source>)
else()
  target_link_libraries(bulkhead PRIVATE llhttp::llhttp)
endif()
target_link_libraries(bulkhead
  PRIVATE CAF::core OpenSSL::SSL OpenSSL::Crypto spdlog::spdlog
  PUBLIC Threads::Threads)
if(BULKHEAD_HAVE_SECCOMP)
  target_link_libraries(bulkhead PRIVATE seccomp)
  set(BULKHEAD_PC_SECCOMP "-lseccomp ")
endif()
target_compile_features(bulkhead PUBLIC cxx_std_20)
target_include_directories(bulkhead INTERFACE
  $<BUILD_INTERFACE:${BULKHEAD_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(bulkhead PROPERTIES LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# -- headers ----------------------------------------------------------------------------------

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/internal-headers.txt internal REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY
             CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/internal-headers.txt)
foreach(layer ${BULKHEAD_LAYERS})
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${layer}/*.hpp)
  file(GLOB hidden RELATIVE ${PROJECT_SOURCE_DIR} ${internal})
  list(REMOVE_ITEM headers ${hidden})
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bulkhead/${layer})
endforeach()
install(FILES bulkhead.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bulkhead)
install(FILES ${BULKHEAD_INCLUDE_DIR}/bulkhead/version.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bulkhead)

# -- CMake package: find_package(bulkhead) ----------------------------------------------------

set(finders ${CMAKE_CURRENT_LIST_DIR}/FindCAF.cmake)
if(NOT TARGET llhttp_from_source)
  set(BULKHEAD_NEEDS_LLHTTP ON)
  list(APPEND finders ${CMAKE_CURRENT_LIST_DIR}/FindLLHTTP.cmake)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/bulkheadConfig.cmake.in
  ${PROJECT_BINARY_DIR}/bulkheadConfig.cmake INSTALL_DESTINATION ${BULKHEAD_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bulkheadConfigVersion.cmake
  COMPATIBILITY SameMinorVersion) # until 1.0.0 a minor version may break
install(TARGETS bulkhead EXPORT bulkheadTargets)
install(EXPORT bulkheadTargets NAMESPACE bulkhead:: DESTINATION ${BULKHEAD_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/bulkheadConfig.cmake
              ${PROJECT_BINARY_DIR}/bulkheadConfigVersion.cmake ${finders}
        DESTINATION ${BULKHEAD_CMAKE_DIR})

# -- pkg-config -------------------------------------------------------------------------------

file(RELATIVE_PATH BULKHEAD_PC_PREFIX
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
if(BULKHEAD_NEEDS_LLHTTP)
  set(BULKHEAD_PC_LLHTTP "-lllhttp ")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/bulkhead.pc.in ${PROJECT_BINARY_DIR}/bulkhead.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bulkhead.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
