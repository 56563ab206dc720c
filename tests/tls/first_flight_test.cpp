#include <bulkhead/tls/first_flight.hpp>
#include <doctest/doctest.h>
TEST_CASE("x") { CHECK(bulkhead::tls::classify({}) == bulkhead::tls::first_flight::incomplete); }
