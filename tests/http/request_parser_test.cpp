#include <bulkhead/http/request_parser.hpp>

#include <doctest/doctest.h>

#include <string>

namespace bulkhead::http {
namespace {

using progress = request_parser::progress;

constexpr std::string_view get = "GET /small HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view post_head =
    "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";

struct fixture {
  request_parser parser{limits{}};
  request r;
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "a complete request consumes its own bytes and no more") {
  const std::string two = std::string(get) + "GET /2";
  const auto s = parser.parse(two, r);
  CHECK(s.state == progress::complete);
  CHECK(s.consumed == get.size());
  CHECK_FALSE(parser.in_request());
  CHECK(r.path() == "/small");
}

TEST_CASE_FIXTURE(fixture, "the head of a request with a body is handed over before its body") {
  const std::string both = std::string(post_head) + "hi";
  const auto head = parser.parse(both, r);
  CHECK(head.state == progress::head);
  CHECK(head.consumed == post_head.size());
  CHECK(r.method() == method::post);
  CHECK(r.field("content-length") == "2");
  CHECK(r.body().empty());
  CHECK(parser.in_request());
  CHECK(parser.expects_continue());

  const auto rest = parser.parse(std::string_view(both).substr(head.consumed), r);
  CHECK(rest.state == progress::complete);
  CHECK(rest.consumed == 2);
  CHECK(r.body() == "hi");
}

TEST_CASE_FIXTURE(fixture, "a client no longer waits for 100 once a byte of its body has come") {
  REQUIRE(parser.parse(post_head, r).state == progress::head);
  CHECK(parser.expects_continue());
  CHECK(parser.parse("h", r).state == progress::more);
  CHECK_FALSE(parser.expects_continue());
}

TEST_CASE_FIXTURE(fixture, "what was expected of one request is not expected of the next") {
  REQUIRE(parser.parse(post_head, r).state == progress::head);
  REQUIRE(parser.parse("hi", r).state == progress::complete);
  r.reset();
  REQUIRE(parser.parse("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", r).state ==
          progress::head);
  CHECK_FALSE(parser.expects_continue());
}

TEST_CASE_FIXTURE(fixture, "a request has begun with the first byte of its request line") {
  CHECK_FALSE(parser.in_request());
  CHECK(parser.parse("\r\n", r).state == progress::more);
  CHECK_FALSE(parser.in_request());
  CHECK(parser.parse("G", r).state == progress::more);
  CHECK(parser.in_request());
}

TEST_CASE_FIXTURE(fixture, "no bytes change nothing") {
  const auto s = parser.parse({}, r);
  CHECK(s.state == progress::more);
  CHECK(s.consumed == 0);
  CHECK_FALSE(parser.in_request());
}

TEST_CASE_FIXTURE(fixture, "nothing can be parsed after a failure") {
  CHECK(parser.parse("GET / HTTP/1.1\r\n\r\n", r).state == progress::failed);
  CHECK(parser.error_status() == 400);
  CHECK(parser.error_reason() == "no Host");
  CHECK_FALSE(parser.in_request());
  const auto again = parser.parse(get, r);
  CHECK(again.state == progress::failed);
  CHECK(again.consumed == 0);
  CHECK(parser.error_reason() == "no Host");
}

TEST_CASE_FIXTURE(fixture, "an error says how many bytes were good") {
  const auto s = parser.parse("GET / HTTP/1.1\r\nHost: x\n", r);
  CHECK(s.state == progress::failed);
  CHECK(s.consumed == 23);
}

TEST_CASE_FIXTURE(fixture, "bytes after the last request of a connection are taken and not read") {
  const std::string closing = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  REQUIRE(parser.parse(closing, r).state == progress::complete);
  CHECK_FALSE(r.keep_alive());
  const auto s = parser.parse(get, r);
  CHECK(s.state == progress::more);
  CHECK(s.consumed == get.size());
  CHECK_FALSE(parser.in_request());
}

TEST_CASE("a connection pays at most 184 bytes for its parser") {
  CHECK(request_parser::memory() <= 184);
}

}  // namespace bulkhead::http
