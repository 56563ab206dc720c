// Placement actor: instances on CAF's scheduler, one request each at a time.
#include <algorithm>
#include <atomic>
#include <thread>

#include "pool_support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

TEST_CASE("a handler actor answers through its connection's mailbox, and the numbers balance") {
  pool_bench b;
  b.routes.get("/x", counting{}, pooled(1));
  b.start();
  CHECK(b.ask(get("/x") + get("/x"), 2) == "200 200");
  CHECK(bodies(b.wire.sent()) == "1 2");
  CHECK(b.counters().completed == 2);
  CHECK(b.counters().messages_handled == 2);
  CHECK(b.counters().lost == 0);
}

TEST_CASE("a handler runs on CAF's scheduler, not on the shard") {
  pool_bench b;
  std::thread::id where;
  b.routes.get(
      "/x",
      [&where](const http::request&) {
        where = std::this_thread::get_id();
        return http::response::text("");
      },
      pooled(1));
  b.start();
  CHECK(b.ask(get("/x"), 1) == "200");
  CHECK(where != std::this_thread::get_id());
}

struct one_at_a_time {
  std::atomic<bool>& violated;
  std::atomic<int>& together;
  std::atomic<int>& most;
  std::shared_ptr<std::atomic<int>> mine = std::make_shared<std::atomic<int>>(0);

  http::response operator()(const http::request&) {
    if (mine->fetch_add(1) != 0) violated = true;
    const int now = ++together;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    --together;
    mine->fetch_sub(1);
    return http::response::text("");
  }
};

TEST_CASE("an instance serves one request at a time, and there are as many as the spec says") {
  pool_bench b;
  std::atomic<bool> violated{false};
  std::atomic<int> together{0}, most{0};
  b.routes.get("/x", factory{[&] { return one_at_a_time{violated, together, most}; }}, pooled(2));
  b.start();
  std::string all;
  for (int i = 0; i < 30; ++i) all += get("/x");
  b.ask(all, 30);
  CHECK(b.counters().completed == 30);
  CHECK_FALSE(violated);
  CHECK(most <= 2);
}

TEST_CASE("two instances work at once: a stuck one does not hold up the other") {
  pool_bench b;
  gate stuck;
  b.routes.get(
      "/x",
      [&](const http::request& r) {
        if (r.query() == "stuck") stuck.pass();
        return http::response::text("done");
      },
      pooled(2));
  b.start();
  b.deliver(get("/x?stuck"));
  REQUIRE(b.until([&] { return stuck.waiting == 1; }));
  b.deliver(get("/x"));
  // In order on the wire, so its answer waits in the connection: handled, not yet sent.
  CHECK(b.until([&] { return b.counters().messages_handled == 1; }));
  stuck.open();
  CHECK(b.wait(2) == "200 200");
}

TEST_CASE("more requests than may wait are answered with 503 and Retry-After at once") {
  pool_bench b;
  gate stuck;
  b.routes.get(
      "/x",
      [&](const http::request&) {
        stuck.pass();
        return http::response::text("");
      },
      pooled(1, 2));
  b.start();
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return stuck.waiting == 1; }));
  b.deliver(get("/x") + get("/x") + get("/x"));
  stuck.open();
  CHECK(b.wait(4) == "200 200 200 503");
  CHECK(answers(b.wire.sent())[3].head.find("Retry-After: 1\r\n") != std::string::npos);
}

TEST_CASE("a handler actor that throws costs its request: 500 without its text, state rebuilt") {
  pool_bench b;
  b.routes.get("/x", counting{}, pooled(1));
  b.start();
  CHECK(b.ask(get("/x") + get("/x?throw"), 2) == "200 500");
  CHECK(b.wire.sent().find("secret") == std::string::npos);
  CHECK(b.ask(get("/x"), 1) == "200");
  CHECK(bodies(b.wire.sent()) == "1");
  CHECK(b.set->restarts() == 1);
  CHECK(b.faults.recent().at(0).what == "secret text");
  CHECK(b.counters().trapped == 1);
}

TEST_CASE("requests that wait survive the trap of the one before them") {
  pool_bench b;
  gate stuck;
  b.routes.get(
      "/x",
      [&](const http::request& r) {
        if (r.query() != "throw") return http::response::text("fine");
        stuck.pass();
        throw std::runtime_error("trap");
      },
      pooled(1));
  b.start();
  b.deliver(get("/x?throw") + get("/x") + get("/x"));
  REQUIRE(b.until([&] { return stuck.waiting == 1; }));
  stuck.open();
  CHECK(b.wait(3) == "500 200 200");
}

TEST_CASE("a back-off turns away the requests that wait") {
  pool_bench b;
  gate stuck;
  b.routes.get(
      "/x",
      [&](const http::request&) -> http::response {
        stuck.pass();
        throw std::runtime_error("trap");
      },
      pooled(1, 100, 0));
  b.start();
  b.deliver(get("/x") + get("/x") + get("/x"));
  REQUIRE(b.until([&] { return stuck.waiting == 1; }));
  stuck.open();
  CHECK(b.wait(3) == "500 503 503");
  CHECK(b.faults.total() == 1);
  CHECK(b.counters().lost == 0);
}

TEST_CASE("after the back-off the pool is filled again by the next request") {
  pool_bench b;
  b.routes.get("/x", counting{}, pooled(1, 100, 0));
  b.start();
  CHECK(b.ask(get("/x?throw"), 1) == "500");
  CHECK(b.ask(get("/x"), 1) == "503");
  b.restarts.advance(seconds(2));
  CHECK(b.ask(get("/x"), 1) == "200");
  CHECK(b.set->restarts() == 1);
}

TEST_CASE("a pool under quarantine serves one probe at a time, and all when it was answered") {
  pool_bench b;
  gate probe;
  b.routes.get(
      "/x",
      [&](const http::request& r) {
        if (r.query() == "throw") throw std::runtime_error("trap");
        if (r.query() == "probe") probe.pass();
        return http::response::text("served");
      },
      pooled(2, 100, 0));
  b.start();
  CHECK(b.ask(get("/x?throw"), 1) == "500");
  b.restarts.advance(seconds(1));
  b.deliver(get("/x?probe"));
  REQUIRE(b.until([&] { return probe.waiting == 1; }));
  CHECK(b.supervisor().state() == route_state::probing);
  static_cast<void>(b.wire.take_sent());
  b.deliver(get("/x") + get("/x"));
  probe.open();
  CHECK(b.wait(3) == "200 503 503");
  CHECK(b.supervisor().state() == route_state::in_service);
  CHECK(b.ask(get("/x") + get("/x"), 2) == "200 200");
}

// Regression: each made the wait a step longer.
TEST_CASE("instances that fail together make their route wait one step") {
  pool_bench b;
  gate together;
  b.routes.get(
      "/x",
      [&](const http::request&) -> http::response {
        together.pass();
        throw std::runtime_error("trap");
      },
      pooled(3, 100, 0));
  b.start();
  // The pool is filled while requests come: those that wait for an instance may be turned away.
  b.deliver(get("/x") + get("/x") + get("/x"));
  REQUIRE(b.until([&] { return together.waiting >= 2; }));
  together.open();
  b.wait(3);
  CHECK(b.until([&] { return b.supervisor().faults() >= 2; }));
  CHECK(b.supervisor().backing_off() == seconds(1));
}

TEST_CASE("a probe that fails in the pool closes it for longer") {
  pool_bench b;
  b.routes.get("/x", counting{}, pooled(1, 100, 0));
  b.start();
  CHECK(b.ask(get("/x?throw"), 1) == "500");
  b.restarts.advance(seconds(1));
  CHECK(b.ask(get("/x?throw"), 1) == "500");
  CHECK(b.supervisor().backing_off() == seconds(2));
  CHECK(answers((b.ask(get("/x"), 1), b.wire.sent()))[0].head.find("Retry-After: 2\r\n") !=
        std::string::npos);
}

TEST_CASE("a probe that the pool does not take is given back") {
  pool_bench b;
  b.routes.get("/x", counting{}, pooled(1, 100, 0));
  b.start();
  CHECK(b.ask(get("/x?throw"), 1) == "500");
  b.restarts.advance(seconds(1));
  CHECK(b.set->stop(seconds(20)));
  CHECK(b.ask(get("/x"), 1) == "503");
  CHECK(b.supervisor().state() == route_state::backing_off);
}

// Regression: placement actor restarted whatever its spec said.
TEST_CASE("a temporary handler actor that has failed is not started again") {
  pool_bench b;
  child_spec spec = pooled(1);
  spec.restart = restart_type::temporary;
  b.routes.get("/x", counting{}, spec);
  b.start();
  CHECK(b.ask(get("/x?throw") + get("/x") + get("/x"), 3) == "500 503 503");
  CHECK(b.set->restarts() == 0);
}

TEST_CASE("a factory that throws is a fault like any other, and ends in back-off") {
  pool_bench b;
  struct never {
    never() { throw std::runtime_error("cannot be made"); }
    http::response operator()(const http::request&) { return http::response::text(""); }
  };
  b.routes.get("/x", factory{[] { return never(); }}, pooled(1, 100, 2));
  b.start();
  CHECK(b.ask(get("/x"), 1) == "503");
  CHECK(b.faults.total() == 3);
}

TEST_CASE("a coroutine that suspends under placement actor is reported as a trap that says why") {
  pool_bench b;
  struct forever {
    static bool await_ready() noexcept { return false; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    static void await_resume() noexcept {}
  };
  b.routes.get(
      "/x",
      [](const http::request&) -> http::task<http::response> {
        co_await forever{};
        co_return http::response::text("");
      },
      pooled(1));
  b.start();
  CHECK(b.ask(get("/x"), 1) == "500");
  CHECK(contains(b.faults.recent().at(0).what, "suspended under placement actor"));
}

TEST_CASE("produced content of a handler actor is whole, and a fault amid it is a 500") {
  pool_bench b;
  b.routes.get(
      "/x",
      [](const http::request& r) {
        return http::response::produced(
            "text/plain", [fails = r.query() == "throw"](const http::body_writer& write) {
              write("part");
              if (fails) throw std::runtime_error("amid it");
            });
      },
      pooled(1));
  b.start();
  CHECK(b.ask(get("/x") + get("/x?throw"), 2) == "200 500");
  CHECK(answers(b.wire.sent())[0].body == "part");
}

TEST_CASE("a coroutine that does not suspend is served under placement actor") {
  pool_bench b;
  b.routes.get(
      "/x",
      [](const http::request&) -> http::task<http::response> {
        co_return http::response::text("done");
      },
      pooled(1));
  b.start();
  CHECK(b.ask(get("/x"), 1) == "200");
}

TEST_CASE("a client that leaves while its handler works costs nobody anything") {
  pool_bench b;
  gate stuck;
  b.routes.get(
      "/x",
      [&](const http::request&) {
        stuck.pass();
        return http::response::text("for nobody");
      },
      pooled(1));
  b.start();
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return stuck.waiting == 1; }));
  b.on([&] { b.wire.end(runtime::receive_end::reset); });
  stuck.open();
  CHECK(b.until([&] { return b.counters().messages_refused == 1; }));
  CHECK(b.counters().aborted == 1);
  CHECK(b.counters().lost == 0);
  CHECK(b.set->stop(std::chrono::seconds(20)));
}

// -- stop
// ---------------------------------------------------------------------------------------------------

TEST_CASE("a stop lets busy instances finish and ends the idle ones") {
  pool_bench b;
  b.routes.get("/x", counting{}, pooled(3));
  b.start();
  CHECK(b.ask(get("/x"), 1) == "200");
  CHECK(b.set->stop(std::chrono::seconds(20)));
  CHECK(b.ask(get("/x"), 1) == "503");
}

// Regression: an instance that was made while the pool stopped was never ended, and the actor
// system waited for it for ever; or the route was gone before its factory was through.
TEST_CASE("a stop waits for a factory that is at work, and what it makes is not used") {
  pool_bench b;
  gate slow;
  b.routes.get("/x", factory{[&] {
                 slow.pass();
                 return counting{};
               }},
               pooled(1));
  b.start();
  REQUIRE(b.until([&] { return slow.waiting == 1; }));
  CHECK_FALSE(b.set->stop(milliseconds(20)));
  slow.open();
  CHECK(b.set->stop(std::chrono::seconds(20)));
}

TEST_CASE("a stop with a stuck handler gives up after its limit, and says so") {
  pool_bench b;
  gate stuck;
  b.routes.get(
      "/x",
      [&](const http::request&) {
        stuck.pass();
        return http::response::text("");
      },
      pooled(1));
  b.start();
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return stuck.waiting == 1; }));
  CHECK_FALSE(b.set->stop(milliseconds(20)));
  stuck.open();
  CHECK(b.set->stop(std::chrono::seconds(20)));
}

}  // namespace
}  // namespace bulkhead::supervision
