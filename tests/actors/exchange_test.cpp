// One request and its response: coroutines, Expect, HEAD, invalid responses, reuse.
#include <bulkhead/runtime/sleep.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

// -- coroutine handlers
// -------------------------------------------------------------------------------

struct local {
  explicit local(int& n) : alive(n) { ++alive; }
  ~local() { --alive; }
  local(const local&) = delete;
  local& operator=(const local&) = delete;
  int& alive;
};

http::task<http::response> after(milliseconds wait, int& alive) {
  const local on_frame(alive);
  co_await runtime::sleep_for(wait);
  co_return http::response::text("slept");
}

void task_done(exchange& x, void*) noexcept {
  x.answer(x.take_task_result());
}

struct sleepy : bench {
  explicit sleepy(milliseconds wait) {
    handlers.serve = [this, wait](exchange& x) {
      if (x.run_task(after(wait, alive), nullptr, &task_done, nullptr)) task_done(x, nullptr);
    };
  }
  int alive = 0;
};

TEST_CASE("a coroutine that suspends answers from the loop when it is done") {
  sleepy b(seconds(3));
  line l(b);
  l.deliver(get("/"));
  CHECK(l.wire.sent().empty());
  CHECK(b.alive == 1);
  b.advance(milliseconds(3'010));
  CHECK(bodies(l.take()) == "slept");
  CHECK(b.alive == 0);
  CHECK(l.balances());
}

TEST_CASE("a coroutine that does not suspend answers at once") {
  sleepy b(milliseconds(0));
  line l(b);
  l.deliver(get("/"));
  CHECK(bodies(l.take()) == "slept");
}

TEST_CASE("a client that resets cancels its coroutine: its locals are destroyed") {
  sleepy b(seconds(3));
  line l(b);
  l.deliver(get("/") + get("/"));
  REQUIRE(b.alive == 2);
  l.end(receive_end::reset);
  CHECK(b.alive == 0);
  b.advance(seconds(4));  // their timers went with them
  CHECK(b.counters().aborted == 2);
  CHECK(l.balances());
}

TEST_CASE("what a coroutine runs in lives until the exchange is done with it") {
  bench b;
  int alive = 0;
  auto home = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = home;
  b.handlers.serve = [&](exchange& x) {
    if (x.run_task(after(seconds(1), alive), std::move(home), &task_done, nullptr)) FAIL("done");
  };
  line l(b);
  l.deliver(get("/"));
  CHECK_FALSE(watch.expired());
  b.advance(milliseconds(1'010));
  CHECK(watch.expired());
}

// -- Expect (RFC 9110 section 10.1.1)
// -----------------------------------------------------------------

const std::string expecting = post("/", "12345", "Expect: 100-continue\r\n");
const std::size_t body_at = expecting.size() - 5;

TEST_CASE("100 (Continue) is sent once, before the body") {
  bench b;
  line l(b);
  l.deliver(std::string_view(expecting).substr(0, body_at));
  CHECK(l.take() == http::serializer::interim_continue);
  l.deliver(std::string_view(expecting).substr(body_at, 2));
  CHECK(l.take().empty());
  l.deliver(std::string_view(expecting).substr(body_at + 2));
  CHECK(bodies(l.take()) == "POST / 12345");
}

TEST_CASE("100 (Continue) waits until earlier answers are out") {
  bench b;
  b.handlers.hold();
  line l(b);
  l.deliver(get("/a") + expecting.substr(0, body_at));
  CHECK(l.wire.sent().empty());
  b.answer(0, "a");
  CHECK(statuses(l.take()) == "200 100");
}

TEST_CASE("no 100 (Continue) when the body came with the head") {
  bench b;
  line l(b);
  l.deliver(expecting);
  CHECK(statuses(l.take()) == "200");
}

TEST_CASE("a body that is too large is refused in place of 100 (Continue)") {
  bench b;
  b.env.settings.limits.body = 4;
  line l(b);
  l.deliver(std::string_view(expecting).substr(0, body_at));
  CHECK(statuses(l.take()) == "413");
  CHECK(l.balances());
}

// -- responses
// ----------------------------------------------------------------------------------------

TEST_CASE("HEAD is answered with the head of a GET and no content") {
  bench b;
  b.handlers.serve = [](exchange& x) { x.answer(http::response::text("12345")); };
  line l(b);
  l.deliver("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string sent = l.take();
  CHECK(sent.find("Content-Length: 5\r\n") != std::string::npos);
  CHECK(sent.ends_with("\r\n\r\n"));
  l.deliver(get("/b"));
  CHECK(bodies(l.take()) == "12345");
}

TEST_CASE("a response with an invalid field becomes a 500, and nothing of it is sent") {
  bench b;
  b.handlers.serve = [](exchange& x) {
    x.answer(http::response::text("secret").field("X-Split", "a\r\nSet-Cookie: b"));
  };
  line l(b);
  l.deliver(get("/"));
  const std::string sent = l.take();
  CHECK(statuses(sent) == "500");
  CHECK(sent.find("secret") == std::string::npos);
  CHECK(sent.find("Set-Cookie") == std::string::npos);
  CHECK_FALSE(l.ended());
}

TEST_CASE("a trapped request is counted as trapped, not as completed") {
  bench b;
  b.handlers.serve = [](exchange& x) { x.answer(http::response::problem(500), verdict::trapped); };
  line l(b);
  l.deliver(get("/") + get("/"));
  CHECK(b.counters().trapped == 2);
  CHECK(b.counters().completed == 0);
  CHECK(l.balances());
}

TEST_CASE("requests have ids that differ") {
  bench b;
  std::vector<std::uint64_t> ids;
  b.handlers.serve = [&](exchange& x) {
    ids.push_back(x.request.id());
    x.answer(http::response::text(""));
  };
  line l(b);
  l.deliver(get("/") + get("/"));
  REQUIRE(ids.size() == 2);
  CHECK(ids[0] != ids[1]);
  CHECK(ids[0] % 1024 == 7);  // the shard
}

// -- reuse
// --------------------------------------------------------------------------------------------

TEST_CASE("a reused exchange shows nothing of the request before it") {
  bench b;
  std::vector<exchange*> seen;
  std::string second;
  b.handlers.serve = [&](exchange& x) {
    seen.push_back(&x);
    if (x.request.path() == "/first") {
      x.request.add_param("id", "1");
      return x.answer(http::response::text("a").field("X-First", "1").status(201));
    }
    second = std::string(x.request.param("id")) + '|' + std::string(x.request.body()) + '|' +
             std::string(x.request.field("X-Secret")) + '|' + std::string(x.request.query());
    x.answer(http::response::empty(200));
  };
  line l(b);
  l.deliver(post("/first?q", "body", "X-Secret: s\r\n"));
  l.take();
  l.deliver(get("/second"));
  REQUIRE(seen.size() == 2);
  REQUIRE(seen[0] == seen[1]);  // it is the same object
  CHECK(second == "|||");
  CHECK(l.take().find("X-First") == std::string::npos);
}

TEST_CASE("an exchange that its handler still holds is not reused") {
  bench b;
  std::vector<exchange*> seen;
  b.handlers.serve = [&](exchange& x) {
    seen.push_back(&x);
    b.handlers.held.emplace_back(x);
    x.answer(http::response::text(""));
  };
  line l(b);
  l.deliver(get("/a"));
  l.deliver(get("/b"));
  REQUIRE(seen.size() == 2);
  CHECK(seen[0] != seen[1]);
  CHECK(b.handlers.held[0]->request.path() == "/a");
}

TEST_CASE("an exchange whose last holder is on another thread is freed there, not reused") {
  runtime::virtual_clock time;
  runtime::shard loop{0, time};
  exchange_pool pool;
  exchange* first = nullptr;
  exchange* second = nullptr;
  exchange_ref held;
  const auto turn = [&](const std::function<void()>& f) {
    loop.post(f);
    loop.turn(false);
  };
  turn([&] {
    held = pool.take();
    first = held.get();
  });
  SUBCASE("on its shard") {
    turn([&] {
      held.reset();
      held = pool.take();
      second = held.get();
      held.reset();
    });
    CHECK(first == second);
  }
  SUBCASE("elsewhere") {
    held.reset();  // ASan sees a double free, LSan a leak
    CHECK_FALSE(held);
  }
}

TEST_CASE("a pool keeps no more free exchanges than it was told") {
  runtime::virtual_clock time;
  runtime::shard loop{0, time};
  exchange_pool pool(1);
  loop.post([&] {
    auto a = pool.take();
    auto c = pool.take();
    exchange* const kept = a.get();
    a.reset();
    c.reset();  // freed
    const auto again = pool.take();
    const auto fresh = pool.take();
    CHECK(again.get() == kept);
    CHECK(fresh.get() != kept);
  });
  loop.turn(false);
}

}  // namespace
}  // namespace bulkhead::actors
