// Deadlines of placement actor: the client is answered in time, whatever its handler does.
#include <thread>

#include "pool_support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

constexpr milliseconds limit{100};

child_spec due(std::uint32_t instances, std::uint32_t restarts = 10) {
  child_spec s = pooled(instances, 100, restarts);
  s.deadline = limit;
  return s;
}

// "/x?stuck" waits at the gate and then answers "late"; everything else answers "done".
struct gated {  // outlives the handlers
  gate stuck;
};
struct deadline_bench : gated, pool_bench {
  http::response serve(const http::request& r) {
    if (r.query() != "stuck") return http::response::text("done");
    stuck.pass();
    return http::response::text("late");
  }
  void start(const child_spec& spec) {
    routes.get(
        "/x", [this](const http::request& r) { return serve(r); }, spec);
    pool_bench::start();
  }
  void advance(milliseconds by) {
    time.advance(by);
    settle();
  }
  void ask_stuck(int times = 1) {
    const int before = stuck.waiting;
    for (int i = 0; i < times; ++i) deliver(get("/x?stuck"));
    REQUIRE(until([&] { return stuck.waiting == before + times; }));
  }
  // Those that are late come back: their threads are given back.
  [[nodiscard]] bool let_back() {
    stuck.open();
    return until([&] { return set->abandoned_threads() == 0; });
  }
};

TEST_CASE("a handler that overruns its deadline is answered 503 with Retry-After, on its session") {
  deadline_bench b;
  b.start(due(1));
  b.ask_stuck();
  b.advance(limit - milliseconds(1));
  CHECK(b.wire.sent().empty());
  b.advance(milliseconds(1));
  const auto all = answers(b.wire.take_sent());
  REQUIRE(all.size() == 1);
  CHECK(all[0].status == 503);
  CHECK(contains(all[0].head, "Retry-After: 1\r\n"));
  CHECK(contains(all[0].head, "application/problem+json"));
  CHECK_FALSE(all[0].says_close());
  CHECK(b.ask(get("/x"), 1) == "200");  // by the instance that was started in its place
  CHECK(b.counters().aborted == 1);
  CHECK(b.counters().completed == 1);
  CHECK(b.set->restarts() == 1);
  CHECK(b.set->abandoned_threads() == 1);
  CHECK(b.let_back());
}

TEST_CASE("an overrun is in the ledger, once, with its route and request") {
  deadline_bench b;
  b.start(due(1));
  b.ask_stuck();
  b.advance(limit);
  REQUIRE(b.faults.total() == 1);
  const fault f = b.faults.recent().at(0);
  CHECK(f.kind == "deadline");
  CHECK(f.what == "no answer within 100 ms");
  CHECK(f.route == "GET /x");
  CHECK(f.request != 0);
  CHECK(f.action == "restarted");
  CHECK(b.let_back());
  CHECK(b.faults.total() == 1);
}

TEST_CASE("what a late handler answers or throws reaches nobody, and is counted as nothing") {
  deadline_bench b;
  bool throws = false;
  SUBCASE("answers") {}
  SUBCASE("throws") {
    throws = true;
  }
  b.routes.get(
      "/x",
      [&](const http::request& r) {
        if (r.query() == "first") b.stuck.pass();
        if (throws && r.query() == "first") throw std::runtime_error("late");
        return http::response::text(std::string(r.query()));
      },
      due(1));
  b.pool_bench::start();
  b.deliver(get("/x?first"));
  REQUIRE(b.until([&] { return b.stuck.waiting == 1; }));
  b.advance(limit);
  REQUIRE(b.let_back());
  CHECK(b.wait(1) == "503");
  CHECK(b.ask(get("/x?second"), 1) == "200");
  CHECK(bodies(b.wire.sent()) == "second");
  CHECK(b.counters().trapped == 0);
  CHECK(b.counters().started == b.counters().completed + b.counters().aborted);
  CHECK(b.counters().messages_handled == 1);
  CHECK(b.counters().lost == 0);
  CHECK(b.faults.total() == 1);
}

// A late answer must not overwrite the 503 that still waits for its turn on the wire.
TEST_CASE("a late answer changes nothing while its 503 waits behind an earlier request") {
  deadline_bench b;
  gate first;
  b.routes.get(
      "/first",
      [&](const http::request&) {
        first.pass();
        return http::response::text("first");
      },
      pooled(1));
  b.start(due(1));
  b.deliver(get("/first"));
  REQUIRE(b.until([&] { return first.waiting == 1; }));
  b.ask_stuck();
  b.advance(limit);
  REQUIRE(b.let_back());
  b.settle();
  first.open();
  CHECK(b.wait(2) == "200 503");
}

TEST_CASE("the wait for a free instance counts, and who waits in vain abandons no thread") {
  deadline_bench b;
  b.start(due(1));
  b.ask_stuck();
  b.advance(limit / 2);
  b.deliver(get("/x?stuck"));
  b.advance(limit / 2);  // the first is late; the second is now in the hands of its replacement
  REQUIRE(b.until([&] { return b.stuck.waiting == 2; }));
  b.deliver(get("/x"));
  b.advance(limit / 2);
  CHECK(b.wait(3) == "503 503 200");
  CHECK(b.set->abandoned_threads() == 2);
  CHECK(b.let_back());
}

TEST_CASE("requests that are due in the queue are one entry of the ledger, and none is served") {
  deadline_bench b;
  std::atomic<int> served{0};
  gate factory_gate;
  b.routes.get("/x", factory{[&] {
                 factory_gate.pass();
                 return [&](const http::request&) {
                   ++served;
                   return http::response::text("");
                 };
               }},
               due(1));
  b.pool_bench::start();
  b.deliver(get("/x") + get("/x") + get("/x"));
  b.advance(limit);
  CHECK(b.wait(3) == "503 503 503");
  REQUIRE(b.faults.total() == 1);
  CHECK(b.faults.recent().at(0).kind == "deadline");
  CHECK(contains(b.faults.recent().at(0).what, "3 waited longer than 100 ms"));
  CHECK(b.set->abandoned_threads() == 0);
  CHECK(b.counters().aborted == 3);
  factory_gate.open();
  CHECK(b.ask(get("/x"), 1) == "200");
  CHECK(served == 1);
}

TEST_CASE("a request that is answered in time leaves nothing behind that could expire") {
  deadline_bench b;
  b.start(due(1));
  std::string all;
  for (int i = 0; i < 300; ++i) CHECK(b.ask(get("/x"), 1) == "200");
  b.advance(limit * 2);
  CHECK(b.faults.total() == 0);
  CHECK(b.counters().completed == 300);
  CHECK(b.counters().aborted == 0);
}

TEST_CASE("a client that left does not keep its handler from being replaced") {
  deadline_bench b;
  b.start(due(1));
  b.ask_stuck();
  b.on([&] { b.wire.end(receive_end::reset); });
  b.advance(limit);
  CHECK(b.set->abandoned_threads() == 1);
  CHECK(b.counters().aborted == 1);
  CHECK(b.let_back());
}

TEST_CASE("handlers that are stuck on the scheduler hold up no route with a deadline") {
  deadline_bench b;
  gate scheduler;
  b.routes.get(
      "/hog",
      [&](const http::request&) {
        scheduler.pass();
        return http::response::text("");
      },
      pooled(8));
  b.start(due(1));
  for (int i = 0; i < 8; ++i) b.deliver(get("/hog"));
  // As many as there are scheduler threads.
  REQUIRE(b.until([&] { return scheduler.waiting == 2; }));
  b.ask_stuck();
  b.advance(limit);
  b.deliver(get("/x"));
  CHECK(b.until([&] { return b.counters().messages_handled == 1; }));  // served by a replacement
  scheduler.open();
  CHECK(b.wait(10) == "200 200 200 200 200 200 200 200 503 200");
  CHECK(b.let_back());
}

TEST_CASE("overruns beyond the restart intensity back the route off") {
  deadline_bench b;
  b.start(due(1, 0));
  b.ask_stuck();
  b.advance(limit);
  CHECK(b.wait(1) == "503");
  CHECK(b.ask(get("/x"), 1) == "503");
  b.restarts.advance(seconds(2));
  CHECK(b.ask(get("/x"), 1) == "200");
  CHECK(b.let_back());
}

// -- the bound
// ------------------------------------------------------------------------------------------------

struct bounded_bench : deadline_bench {
  std::atomic<int> exhausted{0}, relieved{0};

  void start(const child_spec& spec, std::uint32_t threads) {
    routes.get(
        "/x", [this](const http::request& r) { return serve(r); }, spec);
    routes.get(
        "/other", [](const http::request&) { return http::response::text("other"); }, due(1));
    late = {.threads = threads, .on_change = [this](bool out) { ++(out ? exhausted : relieved); }};
    pool_bench::start();
  }
};

TEST_CASE("when as many threads are abandoned as may be, the route answers 503 until one is back") {
  bounded_bench b;
  b.start(due(2), 2);
  b.ask_stuck();
  b.advance(limit);
  CHECK(b.exhausted == 0);
  CHECK(b.ask(get("/x"), 1) == "200");
  b.ask_stuck();
  b.advance(limit);
  CHECK(b.exhausted == 1);
  static_cast<void>(b.until([&] { return b.set->restarts() == 2; }));
  CHECK(b.ask(get("/x"), 1) == "503");
  CHECK(contains(answers(b.wire.sent())[0].head, "Retry-After: "));
  CHECK(b.ask(get("/other"), 1) == "200");  // it has no late handlers
  CHECK(b.let_back());
  CHECK(b.relieved == 1);
  CHECK(b.ask(get("/x"), 1) == "200");
}

TEST_CASE("an overrun beyond the bound is answered in time, and replaced when a thread is back") {
  bounded_bench b;
  b.start(due(2), 1);
  b.ask_stuck(2);
  b.advance(limit);
  CHECK(b.wait(2) == "503 503");
  CHECK(b.set->abandoned_threads() == 1);
  CHECK(b.exhausted == 1);
  CHECK(b.let_back());
  CHECK(b.ask(get("/x") + get("/x") + get("/x"), 3) == "200 200 200");
  CHECK(b.counters().aborted == 2);
}

TEST_CASE("a stop with a late handler gives up after its limit, and says so") {
  deadline_bench b;
  b.start(due(1));
  b.ask_stuck();
  b.advance(limit);
  CHECK(b.wait(1) == "503");
  CHECK_FALSE(b.set->stop(milliseconds(20)));
  b.stuck.open();
}

}  // namespace
}  // namespace bulkhead::supervision
