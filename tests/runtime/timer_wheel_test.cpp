#include <doctest/doctest.h>
#include <bulkhead/runtime/timer_wheel.hpp>
