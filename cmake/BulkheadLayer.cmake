# bulkhead_layer(NAME SOURCES a.cpp ... [DEPENDS lower layers] [LINK libraries])
# One layer as an object library, bulkhead_NAME. Headers are included as <bulkhead/LAYER/x.hpp>, in
# the source tree through links under the build folder, installed as they stand.
set(BULKHEAD_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${BULKHEAD_INCLUDE_DIR}/bulkhead)
foreach(layer runtime tls http actors supervision fixtures cli bulkhead.hpp)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${layer})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${layer} ${BULKHEAD_INCLUDE_DIR}/bulkhead/${layer}
         SYMBOLIC)
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.hpp.in ${BULKHEAD_INCLUDE_DIR}/bulkhead/version.hpp
               @ONLY)

add_library(bulkhead_flags INTERFACE)
target_compile_features(bulkhead_flags INTERFACE cxx_std_20)
target_compile_options(bulkhead_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wold-style-cast -Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps in std::string's operator+ that are none (GCC bug 105651).
  target_compile_options(bulkhead_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(BULKHEAD_WERROR)
  target_compile_options(bulkhead_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(BULKHEAD_SANITIZE)
  # GCC's own manual: sanitizers make it see uninitialized values that are none.
  target_compile_options(bulkhead_flags INTERFACE
                         $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  # null and vptr stay recoverable so that cmake/ubsan.supp can name CAF's own; the test preset's
  # halt_on_error makes every other one fatal as well.
  add_compile_options(-fsanitize=${BULKHEAD_SANITIZE} -fno-sanitize-recover=all
                      -fsanitize-recover=null,vptr -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BULKHEAD_SANITIZE})
endif()

function(bulkhead_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(bulkhead_${name} OBJECT ${L_SOURCES})
  target_include_directories(bulkhead_${name} PUBLIC $<BUILD_INTERFACE:${BULKHEAD_INCLUDE_DIR}>)
  target_link_libraries(bulkhead_${name} PRIVATE bulkhead_flags ${L_LINK})
  set_target_properties(bulkhead_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# bulkhead_test(NAME SOURCES ... LAYERS ... [LINK ...]): a doctest program, one CTest test.
function(bulkhead_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LAYERS;LINK" ${ARGN})
  if(NOT TARGET bulkhead_test_main) # doctest itself, compiled once for all
    add_library(bulkhead_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
    target_link_libraries(bulkhead_test_main PRIVATE bulkhead_flags doctest::doctest)
  endif()
  add_executable(test_${name} ${T_SOURCES})
  target_include_directories(test_${name} PRIVATE ${BULKHEAD_INCLUDE_DIR} ${PROJECT_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE bulkhead_flags bulkhead_test_main doctest::doctest ${T_LINK}
                        OpenSSL::SSL OpenSSL::Crypto spdlog::spdlog Threads::Threads)
  foreach(layer ${T_LAYERS})
    target_link_libraries(test_${name} PRIVATE bulkhead_${layer})
  endforeach()
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120)
endfunction()
