# Chooses what ThreadSanitizer leaves out: nothing when CAF is instrumented too, and much when it is
# the packaged library.
if(CAF_CORE_LIBRARY MATCHES "tsan-caf")
  set(suppressions tsan.supp)
else()
  set(suppressions tsan-packaged-caf.supp)
  message(WARNING "libcaf_core is not instrumented: races around actors stay hidden. "
                  "Run scripts/tsan-caf first, then configure anew with --fresh.")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/${suppressions} ${PROJECT_BINARY_DIR}/tsan.supp COPYONLY)
