#include <bulkhead/http/response.hpp>

#include <doctest/doctest.h>

namespace bulkhead::http {

using namespace std::string_view_literals;

TEST_CASE("factories name the type of their content") {
  CHECK(response::text("a").content_type() == "text/plain; charset=utf-8");
  CHECK(response::html("a").content_type() == "text/html; charset=utf-8");
  CHECK(response::json("{}").content_type() == "application/json");
  CHECK(response::bytes("a").content_type() == "application/octet-stream");
  CHECK(response::bytes("a", "image/png").content_type() == "image/png");
  CHECK(response::empty(204).content_type().empty());
  CHECK(response::empty(204).status() == 204);
}

TEST_CASE("shared and static content is not copied") {
  const auto bytes = std::make_shared<const std::string>("shared");
  const response a = response::shared(bytes, "text/plain");
  CHECK(a.content().view().data() == bytes->data());
  static constexpr std::string_view forever = "static";
  const response b = response::of_static(forever, "text/plain");
  CHECK(b.content().view().data() == forever.data());
}

TEST_CASE("a problem is a document of RFC 9457") {
  const response r = response::problem(404, "no such cow");
  CHECK(r.status() == 404);
  CHECK(r.content_type() == "application/problem+json");
  CHECK(r.content().view() ==
        R"({"type":"about:blank","title":"Not Found","status":404,"detail":"no such cow"})");
}

TEST_CASE("a problem without a detail leaves it out") {
  CHECK(response::problem(503).content().view() ==
        R"({"type":"about:blank","title":"Service Unavailable","status":503})");
}

TEST_CASE("the detail of a problem is escaped as JSON wants it") {
  const response r = response::problem(400, "a\"b\\c\n\x01\x7f\0\xc3\xa4"sv);
  CHECK(r.content().view() ==
        "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
        "\"detail\":\"a\\\"b\\\\c\\u000a\\u0001\\u007f\\u0000\xc3\xa4\"}");
}

TEST_CASE("field lines stand in the order in which they were added") {
  response r = response::text("a");
  r.field("X-A", "1").field("X-B", "").field("x-a", "2 3\t4");
  CHECK(r.field_lines() == "X-A: 1\r\nX-B: \r\nx-a: 2 3\t4\r\n");
  CHECK(r.valid());
}

TEST_CASE("a name that is no token makes a response invalid") {
  for (const std::string_view name : {""sv, "a b"sv, "a:"sv, "a\r\nb"sv, "\xc3\xa4"sv, "a\0"sv}) {
    CAPTURE(name);
    CHECK_FALSE(response(200).field(name, "x").valid());
  }
}

TEST_CASE("a value with a line break or NUL makes a response invalid, and is not kept") {
  for (const std::string_view value : {"a\r\nSet-Cookie: b"sv, "a\nb"sv, "a\rb"sv, "a\0b"sv}) {
    CAPTURE(value);
    response r(200);
    r.field("X", value);
    CHECK_FALSE(r.valid());
    CHECK(r.field_lines().empty());
    CHECK_FALSE(response(200).content_type(value).valid());
    CHECK_FALSE(response::bytes("", value).valid());
  }
}

TEST_CASE("fields that the server owns make a response invalid") {
  for (const std::string_view name :
       {"Content-Length", "transfer-encoding", "CONNECTION", "Date", "server"}) {
    CAPTURE(name);
    CHECK_FALSE(response(200).field(name, "1").valid());
  }
}

TEST_CASE("a status that cannot end an exchange makes a response invalid") {
  CHECK_FALSE(response(0).valid());
  CHECK_FALSE(response(100).valid());
  CHECK_FALSE(response(199).valid());
  CHECK(response(200).valid());
  CHECK(response(599).valid());
  CHECK_FALSE(response(600).valid());
  CHECK_FALSE(response(1000).valid());
}

}  // namespace bulkhead::http
