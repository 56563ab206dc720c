// A peer that does not read: bounded output, no more requests, order, and the send deadline.
#include <random>
#include <string>

#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

constexpr std::size_t big = 60'000;

struct slow : bench {
  slow() {
    handlers.serve = [this](exchange& x) {
      x.answer(http::response::text(std::string(big, static_cast<char>('a' + next++ % 26))));
    };
  }
  int next = 0;

  static std::string requests(int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += get("/big");
    return all;
  }
};

TEST_CASE("with a peer that reads nothing, output stays bounded and no more is parsed") {
  slow b;
  line l(b);
  l.wire.set_window(0);
  l.deliver(slow::requests(100));
  CHECK(b.handlers.requests <= 4);
  CHECK(l.wire.paused());
  const auto before = b.handlers.requests;
  l.deliver(slow::requests(10));
  CHECK(b.handlers.requests == before);
  CHECK(b.loop.buffers().leased() <= 2);
}

TEST_CASE("everything arrives in order once a slow peer reads again, in any steps") {
  slow b;
  line l(b);
  l.wire.set_window(0);
  l.deliver(slow::requests(60));
  std::mt19937 random(42);
  std::string got = l.take();
  for (int i = 0; i < 20'000 && b.counters().completed < 60; ++i) {
    l.open_window(std::uniform_int_distribution<std::size_t>(1, 40'000)(random));
    got += l.take();
  }
  const auto all = answers(got);
  REQUIRE(all.size() == 60);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].body.size() == big);
    CHECK(all[i].body.front() == static_cast<char>('a' + i % 26));
  }
  CHECK_FALSE(l.wire.paused());
  CHECK(l.balances());
}

TEST_CASE("answers of handlers that finish meanwhile wait behind the backlog, in order") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.wire.set_window(0);
  l.deliver(get("/a") + get("/b") + get("/c"));
  b.answer(0, std::string(200'000, 'a'));
  b.answer(2, std::string(1'000, 'c'));
  b.answer(1, std::string(100'000, 'b'));
  while (b.counters().completed < 3) l.open_window(10'000);
  const auto all = answers(l.take());
  REQUIRE(all.size() == 3);
  CHECK(all[0].body == std::string(200'000, 'a'));
  CHECK(all[1].body == std::string(100'000, 'b'));
  CHECK(all[2].body == std::string(1'000, 'c'));
  CHECK(l.balances());
}

TEST_CASE("a request counts as completed only when its last byte is with the kernel") {
  slow b;
  line l(b);
  l.wire.set_window(1'000);
  l.deliver(get("/big"));
  CHECK(b.counters().completed == 0);
  CHECK(b.counters().in_flight == 1);
  l.open_window(2 * big);
  CHECK(b.counters().completed == 1);
}

TEST_CASE("a peer that reads nothing is cut off at the send deadline") {
  slow b;
  line l(b);
  l.wire.set_window(1'000);
  l.deliver(get("/big"));
  b.advance(b.env.settings.timeouts.send - milliseconds(10));
  REQUIRE_FALSE(l.ended());
  b.advance(milliseconds(20));
  CHECK(l.ended() == ending::timed_out);
  CHECK(l.wire.aborted());  // never a false clean end after lost bytes
  CHECK(b.counters().aborted == 1);
  CHECK(l.balances());
}

TEST_CASE("a peer that reads, however slowly, has a new send deadline for each block") {
  slow b;
  line l(b);
  l.wire.set_window(0);
  l.deliver(slow::requests(3));
  for (int i = 0; i < 2; ++i) {
    b.advance(b.env.settings.timeouts.send - milliseconds(100));
    REQUIRE_FALSE(l.ended());
    l.open_window(runtime::block::size);
  }
  b.advance(b.env.settings.timeouts.send - milliseconds(100));
  CHECK_FALSE(l.ended());
}

// Regression: every received byte used to move the send deadline.
TEST_CASE("a peer that sends but does not read cannot put off the send deadline") {
  slow b;
  line l(b);
  l.wire.set_window(1'000);
  l.deliver(get("/big"));
  const std::string next = get("/again");
  for (std::size_t i = 0; i < 4 && !l.ended(); ++i) {
    b.advance(b.env.settings.timeouts.send / 3);
    if (!l.ended()) l.deliver(std::string_view(next).substr(i, 1));
  }
  CHECK(l.ended() == ending::timed_out);
}

// Regression: an answer of a handler used to move the send deadline.
TEST_CASE("handlers that answer meanwhile cannot put off the send deadline") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.wire.set_window(0);
  l.deliver(get("/a") + get("/b") + get("/c") + get("/d"));
  for (std::size_t i = 0; i < 4 && !l.ended(); ++i) {
    b.answer(i, "x");
    b.advance(b.env.settings.timeouts.send / 3 + milliseconds(1));
  }
  CHECK(l.ended() == ending::timed_out);
}

TEST_CASE("a slow reader that resets gives everything back") {
  slow b;
  line l(b);
  l.wire.set_window(10);
  l.deliver(slow::requests(20));
  l.end(receive_end::reset);
  CHECK(l.ended() == ending::peer_gone);
  CHECK(b.counters().completed == 0);
  CHECK(l.balances());
}

}  // namespace
}  // namespace bulkhead::actors
