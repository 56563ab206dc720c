// Many requests on one connection: order, the window, one write a turn, any split.
#include <string>

#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

TEST_CASE("answers go out in the order of the requests, whatever order the handlers answer in") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b") + get("/c"));
  REQUIRE(b.handlers.held.size() == 3);
  b.answer(2, "c");
  CHECK(l.wire.sent().empty());
  b.answer(0, "a");
  CHECK(bodies(l.take()) == "a");
  b.answer(1, "b");
  CHECK(bodies(l.take()) == "b c");
  CHECK(b.counters().completed == 3);
  CHECK(l.balances());
}

TEST_CASE("at the pipeline window nothing more is parsed and the transport is paused") {
  bench b;
  b.env.settings.limits.pipeline_window = 2;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b") + get("/c"));
  CHECK(b.handlers.requests == 2);
  CHECK(l.wire.paused());
  CHECK(l.balances());
}

TEST_CASE("each answer gives back credit for exactly one request") {
  bench b;
  b.env.settings.limits.pipeline_window = 2;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b") + get("/c") + get("/d"));
  b.answer(0, "a");
  CHECK(b.handlers.requests == 3);
  CHECK(l.wire.paused());
  b.answer(2, "c");  // out of order: nothing leaves, no credit
  CHECK(b.handlers.requests == 3);
  b.answer(1, "b");
  CHECK(b.handlers.requests == 4);
}

TEST_CASE("a paused transport is resumed once there is credit, and what waited there is served") {
  bench b;
  b.env.settings.limits.pipeline_window = 1;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a"));
  REQUIRE(l.wire.paused());
  l.deliver(get("/b"));
  REQUIRE(b.handlers.requests == 1);
  b.answer(0, "a");
  CHECK(b.handlers.requests == 2);
  b.answer(1, "b");
  CHECK_FALSE(l.wire.paused());
  CHECK(bodies(l.take()) == "a b");
  CHECK(l.balances());
}

// A transport may deliver from inside resume_receiving(): the answers must not stay behind.
TEST_CASE("what arrives from inside a resume is answered in the same turn") {
  bench b;
  b.env.settings.limits.pipeline_window = 1;
  line l(b);
  b.handlers.hold();
  l.deliver(get("/a"));
  l.deliver(get("/b") + get("/c"));
  b.handlers.serve = scripted{}.serve;
  b.answer(0, "a");
  CHECK(bodies(l.take()) == "a GET /b GET /c");
  CHECK(b.env.output.empty());
}

TEST_CASE("sixteen pipelined requests in one delivery are answered with one send") {
  bench b;
  line l(b);
  std::string all;
  for (int i = 0; i < 16; ++i) all += post("/echo", "0123456789abcdef");
  l.deliver(all);
  CHECK(l.wire.sends() == 1);
  CHECK(answers(l.take()).size() == 16);
}

TEST_CASE("a response that closes drops the requests behind it, as aborted") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b") + get("/c"));
  b.answer(0, http::response::text("a").close());
  const std::string sent = l.take();
  CHECK(bodies(sent) == "a");
  CHECK(answers(sent).front().says_close());
  CHECK(b.counters().aborted == 2);
  l.end();
  CHECK(l.ended() == ending::clean);
  CHECK(l.balances());
}

TEST_CASE("an answer that comes after its request was dropped goes nowhere") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b"));
  b.answer(0, http::response::text("a").close());
  b.answer(1, "b");
  CHECK(bodies(l.take()) == "a");
  CHECK(b.counters().completed == 1);
  CHECK(l.balances());
}

TEST_CASE("nothing behind a request with Connection: close is looked at") {
  bench b;
  line l(b);
  l.deliver(get("/a", "Connection: close\r\n") + get("/b") + "garbage");
  CHECK(bodies(l.take()) == "GET /a");
  CHECK(b.handlers.requests == 1);
  CHECK(b.counters().malformed == 0);
}

TEST_CASE("an error of the client is answered after what it asked before, then the end") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + "GET /b HTTP/1.1\r\nNo Host\r\n\r\n");
  CHECK(l.wire.sent().empty());
  b.answer(0, "a");
  CHECK(statuses(l.take()) == "200 400");
  l.end();
  CHECK(l.ended() == ending::refused);
  CHECK(b.counters().started == 1);  // no handler saw the other
  CHECK(l.balances());
}

// -- splits
// -----------------------------------------------------------------------------------------

const std::string mixed = get("/a?x=1") + post("/b", "hello") +
                          "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n" +
                          get("/d") + get("/e", "Connection: close\r\n");

std::string whole() {
  bench b;
  line l(b);
  l.deliver(mixed);
  return l.take();
}

TEST_CASE("requests split in two at any byte are answered alike") {
  const std::string expected = whole();
  REQUIRE(statuses(expected) == "200 200 200 200 200");
  bench b;
  for (std::size_t at = 1; at < mixed.size(); ++at) {
    CAPTURE(at);
    line l(b);
    l.deliver(std::string_view(mixed).substr(0, at));
    l.deliver(std::string_view(mixed).substr(at));
    CHECK(l.take() == expected);
    l.end();
    CHECK(l.ended() == ending::clean);
  }
}

TEST_CASE("requests that come a byte at a time are answered alike") {
  bench b;
  line l(b);
  for (std::size_t i = 0; i < mixed.size(); ++i) l.deliver(std::string_view(mixed).substr(i, 1));
  CHECK(l.take() == whole());
  CHECK(l.balances());
}

}  // namespace
}  // namespace bulkhead::actors
