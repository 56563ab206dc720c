// Deadlines of a connection, on a virtual clock: each protects from one situation.
#include <string>

#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

TEST_CASE("a request head that was begun and not finished in time is answered with 408") {
  bench b;
  line l(b);
  l.deliver("GET / HTTP/1.1\r\nHo");
  b.advance(b.env.settings.timeouts.head - milliseconds(10));
  CHECK(l.wire.sent().empty());
  b.advance(milliseconds(20));
  CHECK(statuses(l.take()) == "408");
  CHECK(l.wire.finished());
  CHECK(b.counters().late == 1);
  l.end();
  CHECK(l.ended() == ending::timed_out);
  CHECK(l.balances());
}

TEST_CASE("bytes that drip in do not move the head's deadline") {
  bench b;
  line l(b);
  for (const char* byte : {"G", "E", "T", " "}) {
    l.deliver(byte);
    b.advance(b.env.settings.timeouts.head / 3);
  }
  CHECK(statuses(l.take()) == "408");
}

TEST_CASE("a client that connects and says nothing is closed without a word") {
  bench b;
  line l(b);
  b.advance(b.env.settings.timeouts.head + milliseconds(10));
  CHECK(l.wire.sent().empty());
  CHECK(l.wire.finished());
  b.advance(b.env.settings.timeouts.linger + milliseconds(10));
  CHECK(l.ended() == ending::timed_out);
  CHECK(l.balances());
}

TEST_CASE("an idle keep-alive connection is closed without a word, and that is no fault") {
  bench b;
  line l(b);
  l.deliver(get("/"));
  l.take();
  b.advance(b.env.settings.timeouts.idle - milliseconds(10));
  REQUIRE_FALSE(l.wire.finished());
  b.advance(milliseconds(20));
  CHECK(l.wire.sent().empty());
  CHECK(l.wire.finished());
  l.end();
  CHECK(l.ended() == ending::clean);
  CHECK(b.counters().late == 0);
  CHECK(l.balances());
}

TEST_CASE("each request of a keep-alive connection starts the idle time anew") {
  bench b;
  line l(b);
  for (int i = 0; i < 3; ++i) {
    l.deliver(get("/"));
    b.advance(b.env.settings.timeouts.idle - milliseconds(100));
  }
  CHECK_FALSE(l.wire.finished());
}

TEST_CASE("a handler's time is not the client's: no deadline runs while it works") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/"));
  b.advance(std::chrono::hours(1));
  REQUIRE_FALSE(l.ended());
  b.answer(0, "late");
  CHECK(bodies(l.take()) == "late");
}

TEST_CASE("a body that stalls is answered with 408") {
  bench b;
  line l(b);
  l.deliver(post("/", "0123456789").substr(0, 55));
  b.advance(b.env.settings.timeouts.body + milliseconds(10));
  CHECK(statuses(l.take()) == "408");
  CHECK(b.handlers.requests == 0);
  CHECK(l.balances());
}

TEST_CASE("a body gets a second more for each body_rate bytes that came") {
  bench b;
  const auto& t = b.env.settings.timeouts;
  line l(b);
  const std::string request = post("/", std::string(20 * t.body_rate, 'x'));
  const std::size_t head = request.find("\r\n\r\n") + 4;
  l.deliver(std::string_view(request).substr(0, head + 10 * t.body_rate));
  b.advance(t.body + seconds(9));
  REQUIRE(l.wire.sent().empty());
  b.advance(milliseconds(1'100));
  CHECK(statuses(l.take()) == "408");
}

TEST_CASE("a body within its rate may take as long as it needs") {
  bench b;
  const auto& t = b.env.settings.timeouts;
  line l(b);
  const std::string request = post("/", std::string(60 * t.body_rate, 'x'));
  const std::size_t head = request.find("\r\n\r\n") + 4;
  l.deliver(std::string_view(request).substr(0, head));
  for (std::size_t i = 0; i < 60; ++i) {
    b.advance(seconds(1));
    l.deliver(std::string_view(request).substr(head + i * t.body_rate, t.body_rate));
  }
  CHECK(statuses(l.take()) == "200");
}

// Regression: the deadline of the half request expired again at each tick, and each time one more
// 408 was queued behind the slow handler.
TEST_CASE("a 408 behind a slow handler is queued once") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/slow") + "GET /half HT");
  b.advance(b.env.settings.timeouts.head + milliseconds(10));
  b.advance(seconds(1));
  b.advance(seconds(1));
  CHECK(b.counters().late == 1);
  CHECK(l.connection->in_flight() == 2);
  b.answer(0, "slow");
  CHECK(statuses(l.take()) == "200 408");
  CHECK(l.balances());
}

// Regression: as above, with the client's FIN in the middle of a request.
TEST_CASE("half a request before the client's FIN is not timed out behind a slow handler") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/slow") + "GET /half HT");
  l.end();
  b.advance(b.env.settings.timeouts.head + seconds(1));
  CHECK(b.counters().late == 0);
  b.answer(0, "slow");
  CHECK(statuses(l.take()) == "200");
  CHECK(l.ended() == ending::peer_gone);
  CHECK(l.balances());
}

// -- linger
// -----------------------------------------------------------------------------------------

TEST_CASE("a peer that does not close after our end is cut off after the linger time") {
  bench b;
  line l(b);
  l.deliver("BAD\r\n\r\n");
  REQUIRE(l.wire.finished());
  b.advance(b.env.settings.timeouts.linger - milliseconds(10));
  CHECK_FALSE(l.ended());
  b.advance(milliseconds(20));
  CHECK(l.ended() == ending::refused);
  CHECK(l.balances());
}

TEST_CASE("bytes that come while lingering are dropped and do not prolong it") {
  bench b;
  line l(b);
  l.deliver("BAD\r\n\r\n");
  l.take();
  b.advance(b.env.settings.timeouts.linger / 2);
  l.deliver(get("/ignored"));
  CHECK(l.wire.sent().empty());
  b.advance(b.env.settings.timeouts.linger / 2 + milliseconds(10));
  CHECK(l.ended() == ending::refused);
  CHECK(b.handlers.requests == 0);
}

TEST_CASE("a lingering peer may send 64 KiB, and is reset at the next byte") {
  bench b;
  line l(b);
  l.deliver("BAD\r\n\r\n");
  l.deliver(std::string(64 * 1024, 'x'));
  CHECK_FALSE(l.ended());
  l.deliver("x");
  CHECK(l.ended() == ending::refused);
}

TEST_CASE("a peer that closes ends the linger at once") {
  bench b;
  line l(b);
  l.deliver("BAD\r\n\r\n");
  l.end();
  CHECK(l.ended() == ending::refused);
  CHECK_FALSE(l.wire.aborted());
}

}  // namespace
}  // namespace bulkhead::actors
