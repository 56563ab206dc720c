#include <bulkhead/tls/first_flight.hpp>

#include <doctest/doctest.h>

#include <string>

using bulkhead::tls::classify;
using bulkhead::tls::first_flight;

namespace {

first_flight of(std::string_view text) {
  return classify(std::as_bytes(std::span(text.data(), text.size())));
}

std::string record(std::size_t length, std::size_t present) {
  std::string bytes("\x16\x03\x01", 3);
  bytes += static_cast<char>(length >> 8U);
  bytes += static_cast<char>(length & 0xffU);
  return bytes + std::string(present, '\1');
}

}  // namespace

TEST_CASE("nothing yet is incomplete") {
  CHECK(of("") == first_flight::incomplete);
}

TEST_CASE("a TLS record is a record once its last byte is there, and incomplete before") {
  const std::string whole = record(300, 300);
  for (std::size_t n = 1; n < whole.size(); ++n) {
    CAPTURE(n);
    CHECK(of(whole.substr(0, n)) == first_flight::incomplete);
  }
  CHECK(of(whole) == first_flight::record);
  CHECK(of(whole + "more") == first_flight::record);
}

TEST_CASE("the minor version says nothing, the major one must be 3") {
  CHECK(of(std::string("\x16\x03\x04\x00\x01\x01", 6)) == first_flight::record);
  CHECK(of(std::string("\x16\x03\x00\x00\x01\x01", 6)) == first_flight::record);
  CHECK(of(std::string("\x16\x02", 2)) == first_flight::garbage);
}

TEST_CASE("a record holds 1 to 16384 bytes; others are garbage as soon as the length shows") {
  CHECK(of(record(1, 1)) == first_flight::record);
  CHECK(of(record(16384, 16384)) == first_flight::record);
  CHECK(of(record(16384, 0)) == first_flight::incomplete);
  CHECK(of(record(0, 0)) == first_flight::garbage);
  CHECK(of(record(16385, 0)) == first_flight::garbage);
  CHECK(of(std::string("\x16\x03\x01\x41", 4)) == first_flight::garbage);
}

TEST_CASE("an HTTP request without TLS is told by its method") {
  for (const std::string method :
       {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"}) {
    CAPTURE(method);
    for (std::size_t n = 1; n < method.size(); ++n)
      CHECK(of(method.substr(0, n)) == first_flight::incomplete);
    CHECK(of(method) == first_flight::plain_http);
    CHECK(of(method + " / HTTP/1.1\r\n") == first_flight::plain_http);
  }
}

TEST_CASE("everything else is garbage") {
  CHECK(of("get / HTTP/1.1") == first_flight::garbage);
  CHECK(of("GOT") == first_flight::garbage);
  CHECK(of("SSH-2.0-OpenSSH") == first_flight::garbage);
  CHECK(of(std::string("\x15\x03\x01\x00\x02\x02\x28", 7)) == first_flight::garbage);  // an alert
  CHECK(of(std::string("\x80\x2e\x01\x03\x01", 5)) == first_flight::garbage);  // SSLv2's hello
  CHECK(of(std::string("\0", 1)) == first_flight::garbage);
}
