// How a connection ends: by either side, in every phase, and what a fault costs.
#include <stdexcept>
#include <string>

#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

TEST_CASE("the client asked for the close: it is not lingered for") {
  bench b;
  line l(b);
  l.deliver(get("/", "Connection: close\r\n"));
  CHECK(answers(l.take()).front().says_close());
  CHECK(l.ended() == ending::clean);
  CHECK_FALSE(l.wire.aborted());
  CHECK(l.balances());
}

TEST_CASE("the server closes: it finishes its side and waits for the peer's end") {
  bench b;
  b.handlers.serve = [](exchange& x) { x.answer(http::response::text("bye").close()); };
  line l(b);
  l.deliver(get("/"));
  CHECK(l.wire.finished());
  CHECK_FALSE(l.ended());
  l.end();
  CHECK(l.ended() == ending::clean);
}

TEST_CASE("HTTP/1.0 without keep-alive is closed after the answer") {
  bench b;
  line l(b);
  l.deliver("GET / HTTP/1.0\r\n\r\n");
  CHECK(bodies(l.take()) == "GET /");
  CHECK(l.ended() == ending::clean);
}

TEST_CASE("a peer that leaves between requests leaves cleanly") {
  bench b;
  line l(b);
  l.deliver(get("/"));
  l.end();
  CHECK(l.ended() == ending::clean);
  CHECK(l.balances());
}

TEST_CASE("a peer that leaves within a head is gone, and nothing is sent") {
  bench b;
  line l(b);
  l.deliver("GET / HTTP/1.1\r\nHo");
  l.end();
  CHECK(l.wire.sent().empty());
  CHECK(l.ended() == ending::peer_gone);
}

TEST_CASE("a peer that leaves within a body is gone, and no handler sees the request") {
  bench b;
  line l(b);
  l.deliver(post("/", "0123456789").substr(0, 50));
  l.end();
  CHECK(b.handlers.requests == 0);
  CHECK(l.ended() == ending::peer_gone);
  CHECK(l.balances());
}

TEST_CASE("after a half-close everything that was asked is answered, then the end") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b"));
  l.end();
  REQUIRE_FALSE(l.ended());
  b.answer(1, "b");
  b.answer(0, "a");
  const auto all = answers(l.take());
  REQUIRE(all.size() == 2);
  CHECK_FALSE(all[0].says_close());
  CHECK(all[1].says_close());
  CHECK(l.ended() == ending::clean);
  CHECK(b.counters().completed == 2);
  CHECK(l.balances());
}

TEST_CASE("a reset ends everything at once, and what was in flight is aborted") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b"));
  l.end(receive_end::reset);
  CHECK(l.ended() == ending::peer_gone);
  CHECK(b.counters().aborted == 2);
  b.answer(0, "for nobody");
  CHECK(b.handlers.held[0]->owner() == nullptr);
  CHECK(l.balances());
}

// -- drain
// ------------------------------------------------------------------------------------------

TEST_CASE("a drain closes an idle connection at once") {
  bench b;
  line l(b);
  l.deliver(get("/"));
  l.take();
  l.drain();
  CHECK(l.wire.finished());
  CHECK(l.wire.sent().empty());
  l.end();
  CHECK(l.ended() == ending::stopped);
  CHECK(l.balances());
}

TEST_CASE("a drain closes a connection that has not asked yet") {
  bench b;
  line l(b);
  l.drain();
  CHECK(l.wire.finished());
}

TEST_CASE("a drain lets what is in flight finish and says that it was the last") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + get("/b"));
  l.drain();
  CHECK_FALSE(l.wire.finished());
  b.answer(0, "a");
  b.answer(1, "b");
  const auto all = answers(l.take());
  REQUIRE(all.size() == 2);
  CHECK_FALSE(all[0].says_close());
  CHECK(all[1].says_close());
  CHECK(l.wire.finished());
  CHECK(b.counters().completed == 2);
}

TEST_CASE("a drain lets a request that has begun to arrive come in and answers it") {
  const std::string request = post("/", "0123456789");
  const std::size_t body = request.size() - 10;
  for (const std::size_t at : {std::size_t{1}, std::size_t{20}, body, body + 5}) {
    CAPTURE(at);
    bench b;
    line l(b);
    l.deliver(std::string_view(request).substr(0, at));
    l.drain();
    CHECK_FALSE(l.wire.finished());
    l.deliver(std::string_view(request).substr(at));
    const auto all = answers(l.take());
    REQUIRE(all.size() == 1);
    CHECK(all[0].status == 200);
    CHECK(all[0].says_close());
    CHECK(l.balances());
  }
}

TEST_CASE("a drain waits for a peer that still reads its answer") {
  bench b;
  b.handlers.serve = [](exchange& x) { x.answer(http::response::text(std::string(9'000, 'x'))); };
  line l(b);
  l.wire.set_window(100);
  l.deliver(get("/"));
  l.drain();
  CHECK_FALSE(l.ended());
  l.open_window(20'000);
  CHECK(bodies(l.take()).size() == 9'000);
  CHECK(l.wire.finished());
  CHECK(b.counters().completed == 1);
}

TEST_CASE("a drain changes nothing for a connection that lingers already") {
  bench b;
  line l(b);
  l.deliver("BAD\r\n\r\n");
  l.drain();
  l.end();
  CHECK(l.ended() == ending::refused);
}

TEST_CASE("a connection that opens on a shard that drains serves one request and closes") {
  bench b;
  b.env.draining = true;
  line l(b);
  l.deliver(get("/"));
  CHECK(answers(l.take()).front().says_close());
}

// -- faults
// -----------------------------------------------------------------------------------------

struct faulty : bench {
  faulty() {
    handlers.serve = [](exchange& x) {
      if (x.request.path() == "/fault") throw std::runtime_error("defect of the dispatcher");
      x.answer(http::response::text(echo_of(x.request)));
    };
  }
};

TEST_CASE("an exception that escapes the dispatcher ends its connection with its text") {
  faulty b;
  line l(b);
  l.deliver(get("/fault"));
  CHECK(l.ended() == ending::fault);
  CHECK(l.connection->fault == "defect of the dispatcher");
  CHECK(l.wire.aborted());
  CHECK(b.counters().connection_faults == 1);
  CHECK(b.counters().aborted == 1);
  CHECK(l.balances());
}

TEST_CASE("an exception that escapes the dispatcher leaves other connections alone") {
  faulty b;
  line sick(b), healthy(b);
  healthy.deliver("GET /be");
  sick.deliver(get("/ok") + get("/fault"));
  healthy.deliver("fore HTTP/1.1\r\nHost: x\r\n\r\n" + get("/after"));
  CHECK(bodies(healthy.take()) == "GET /before GET /after");
  CHECK_FALSE(healthy.ended());
}

TEST_CASE("no byte of a faulted turn reaches another connection") {
  faulty b;
  line sick(b), healthy(b);
  sick.deliver(get("/secret") + get("/fault"));
  healthy.deliver(get("/mine"));
  CHECK(bodies(healthy.take()) == "GET /mine");
}

// -- one turn at a time
// -------------------------------------------------------------------------------

TEST_CASE("an answer given during another connection's turn is written in its own") {
  bench b;
  line first(b), second(b);
  b.handlers.serve = [&](exchange& x) {
    if (x.request.path() == "/wait") return static_cast<void>(b.handlers.held.emplace_back(x));
    b.handlers.held.front()->answer(http::response::text("woken"));
    x.answer(http::response::text("waker"));
  };
  first.deliver(get("/wait"));
  second.deliver(get("/wake"));
  CHECK(bodies(first.take()) == "woken");
  CHECK(bodies(second.take()) == "waker");
}

TEST_CASE("an answer for a connection that ended in the same turn goes nowhere") {
  bench b;
  line first(b), second(b);
  b.handlers.serve = [&](exchange& x) {
    if (x.request.path() == "/wait") return static_cast<void>(b.handlers.held.emplace_back(x));
    b.handlers.held.front()->answer(http::response::text("woken"));  // delivered by the loop
    first.connection->abort(ending::stopped);
    x.answer(http::response::text("waker"));
  };
  first.deliver(get("/wait"));
  second.deliver(get("/wake"));
  CHECK(first.wire.sent().empty());
  CHECK(bodies(second.take()) == "waker");
  CHECK(b.counters().aborted == 1);
}

}  // namespace
}  // namespace bulkhead::actors
