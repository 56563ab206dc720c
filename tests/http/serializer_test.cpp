#include <bulkhead/http/serializer.hpp>

#include <doctest/doctest.h>

namespace bulkhead::http {
namespace {

// The virtual clock stands at 1'700'000'000 seconds.
#define DATE "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"

struct fixture {
  runtime::virtual_clock clock;
  serializer s;

  std::string head(const response& r, const framing& f = {}) {
    std::string out;
    s.write_head(r, f, clock.wall(), out);
    return out;
  }
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "the head of a 200 is exactly this") {
  CHECK(head(response::text("hello")) ==
        "HTTP/1.1 200 OK\r\nServer: Bulkhead\r\n" DATE
        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\n");
}

TEST_CASE_FIXTURE(fixture, "the head of another status is exactly this") {
  response r = response::json("{}").status(404);
  r.field("X-A", "b");
  CHECK(head(r) == "HTTP/1.1 404 Not Found\r\nServer: Bulkhead\r\n" DATE
                   "Content-Type: application/json\r\nX-A: b\r\nContent-Length: 2\r\n\r\n");
}

TEST_CASE_FIXTURE(fixture, "a head is added to what is there") {
  std::string out = "before";
  s.write_head(response::empty(200), {}, clock.wall(), out);
  CHECK(out == "beforeHTTP/1.1 200 OK\r\nServer: Bulkhead\r\n" DATE "Content-Length: 0\r\n\r\n");
}

TEST_CASE("a server without a name does not name itself") {
  runtime::virtual_clock clock;
  serializer s("");
  std::string out;
  s.write_head(response::empty(200), {}, clock.wall(), out);
  CHECK(out == "HTTP/1.1 200 OK\r\n" DATE "Content-Length: 0\r\n\r\n");
}

TEST_CASE_FIXTURE(fixture, "the date moves with the second, not before") {
  const std::string first = head(response::empty(200));
  clock.advance(runtime::milliseconds(999));
  CHECK(head(response::empty(200)) == first);
  clock.advance(runtime::milliseconds(1));
  CHECK(head(response::empty(200)).find("Date: Tue, 14 Nov 2023 22:13:21 GMT") !=
        std::string::npos);
  CHECK(head(response::empty(404)).find("Date: Tue, 14 Nov 2023 22:13:21 GMT") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "the date is right on the last second of a leap day") {
  std::string out;
  s.write_head(response::empty(200), {}, runtime::wall_time(runtime::seconds(951868799)), out);
  CHECK(out.find("Date: Tue, 29 Feb 2000 23:59:59 GMT\r\n") != std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "a connection that ends says so") {
  CHECK(head(response::empty(200), {.keep_alive = false}).ends_with("Connection: close\r\n\r\n"));
  CHECK(head(response::empty(200).close()).ends_with("Connection: close\r\n\r\n"));
  CHECK(head(response::empty(200).close(), {.minor_version = 0})
            .ends_with("Connection: close\r\n\r\n"));
}

TEST_CASE_FIXTURE(fixture, "HTTP/1.0 is told that its connection stays") {
  CHECK(head(response::empty(200), {.minor_version = 0})
            .ends_with("Content-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST_CASE_FIXTURE(fixture, "HTTP/1.1 is told nothing when its connection stays") {
  CHECK(head(response::empty(200)).find("Connection") == std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "interim responses and 204 have no length (RFC 9110 section 8.6)") {
  CHECK(head(response::text("x").status(204)).find("Content-Length") == std::string::npos);
  CHECK(head(response::empty(103)).find("Content-Length") == std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "a 304 has the length of the content that it spares, or none") {
  CHECK(head(response::text("hello").status(304)).find("Content-Length: 5\r\n") !=
        std::string::npos);
  CHECK(head(response::empty(304)).find("Content-Length") == std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "HEAD has the same head as GET") {
  const response r = response::text("hello");
  CHECK(head(r, {.head_only = true}) == head(r));
}

TEST_CASE("content follows a head unless the status or the method forbids it") {
  CHECK(serializer::content_follows(response::text("x"), {}));
  CHECK_FALSE(serializer::content_follows(response::text(""), {}));
  CHECK_FALSE(serializer::content_follows(response::text("x"), {.head_only = true}));
  CHECK_FALSE(serializer::content_follows(response::text("x").status(204), {}));
  CHECK_FALSE(serializer::content_follows(response::text("x").status(304), {}));
  CHECK_FALSE(serializer::content_follows(response::text("x").status(103), {}));
}

TEST_CASE_FIXTURE(fixture, "a long content has its whole length") {
  const auto big = std::make_shared<const std::string>(12345678, 'x');
  CHECK(head(response::shared(big, "")).find("Content-Length: 12345678\r\n") != std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "a status without a registered phrase still has one") {
  CHECK(head(response::empty(299)).starts_with("HTTP/1.1 299 Status\r\n"));
}

#undef DATE

}  // namespace bulkhead::http
