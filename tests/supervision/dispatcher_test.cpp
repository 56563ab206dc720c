// The supervised dispatcher, inline: what a fault costs, and whom it does not touch.
#include <bulkhead/runtime/sleep.hpp>

#include "support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

// -- without a handler
// ---------------------------------------------------------------------------------

TEST_CASE("what no route takes is answered by the table: 404, 405 with Allow, 204 to OPTIONS") {
  served b;
  b.routes.get("/x", counting{});
  b.start();
  line l(b);
  CHECK(status_of(l, "/nowhere") == 404);
  const auto not_allowed = ask(l, post("/x", ""));
  CHECK(not_allowed.status == 405);
  CHECK(not_allowed.head.find("Allow: GET, HEAD, OPTIONS\r\n") != std::string::npos);
  l.deliver("OPTIONS /x HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(statuses(l.take()) == "204");
  CHECK(b.faults.total() == 0);
}

// -- a handler that throws
// ---------------------------------------------------------------------------------

TEST_CASE("a handler that throws costs its request: 500 as problem details, session kept") {
  served b;
  b.routes.get("/x", counting{});
  b.start();
  line l(b);
  const auto a = ask(l, get("/x?throw"));
  CHECK(a.status == 500);
  CHECK(a.head.find("Content-Type: application/problem+json\r\n") != std::string::npos);
  CHECK_FALSE(a.says_close());
  CHECK(status_of(l, "/x") == 200);
  CHECK(b.counters().trapped == 1);
  CHECK(b.counters().completed == 1);
  CHECK(l.balances());
}

TEST_CASE("the exception's text is in the ledger and never on the wire") {
  served b;
  b.routes.get("/x", counting{});
  b.start();
  line l(b);
  const auto a = ask(l, get("/x?throw"));
  CHECK((a.head + a.body).find("secret") == std::string::npos);
  const auto faults = b.faults.recent();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].what == "secret text");
  CHECK(faults[0].route == "GET /x");
  CHECK(faults[0].shard == 7);
  CHECK(faults[0].request != 0);
}

TEST_CASE("what is thrown need not be an exception") {
  served b;
  b.routes.get("/x", [](const http::request&) -> http::response { throw 42; });
  b.start();
  line l(b);
  CHECK(status_of(l, "/x") == 500);
  CHECK(b.faults.recent().at(0).kind == "int");
}

TEST_CASE("a handler that threw is rebuilt: its state starts anew") {
  served b;
  b.routes.get("/x", counting{});
  b.start();
  line l(b);
  CHECK(ask(l, get("/x")).body == "1");
  CHECK(ask(l, get("/x")).body == "2");
  CHECK(status_of(l, "/x?throw") == 500);
  CHECK(ask(l, get("/x")).body == "1");
  CHECK(b.set->restarts() == 1);
}

TEST_CASE("siblings of a handler that throws keep their state") {
  served b;
  b.routes.get("/x", counting{}, allowing(0)).get("/y", counting{});
  b.start();
  line l(b);
  CHECK(ask(l, get("/y")).body == "1");
  CHECK(status_of(l, "/x?throw") == 500);
  CHECK(status_of(l, "/x") == 503);
  CHECK(ask(l, get("/y")).body == "2");
}

TEST_CASE("a hundred throws between healthy requests never close the session") {
  served b;
  b.routes.get("/trap", counting{}, allowing(1'000)).get("/ok", counting{});
  b.start();
  line l(b);
  for (int i = 1; i <= 100; ++i) {
    CHECK(status_of(l, "/trap?throw") == 500);
    CHECK(ask(l, get("/ok")).body == std::to_string(i));
  }
  CHECK(b.set->restarts() == 100);
  CHECK(b.counters().trapped == 100);
  CHECK(b.counters().completed == 100);
  CHECK(l.balances());
}

// -- content that is produced
// -----------------------------------------------------------------------

http::response produced(const http::request& r) {
  return http::response::produced("text/plain",
                                  [fails = r.query() == "throw"](const http::body_writer& write) {
                                    write("one ");
                                    if (fails) throw std::runtime_error("amid it");
                                    write("two");
                                  });
}

TEST_CASE("produced content is whole before it is sent, and a fault amid it is a 500") {
  served b;
  b.routes.get("/now", produced);
  b.routes.get("/later", [](const http::request& r) -> http::task<http::response> {
    co_await runtime::sleep_for(milliseconds(1));
    co_return produced(r);
  });
  b.start();
  line l(b);
  for (const std::string path : {"/now", "/later"}) {
    CAPTURE(path);
    l.deliver(get(path) + get(path + "?throw") + get(path));
    b.advance(milliseconds(10));
    const std::string got = l.take();
    CHECK(statuses(got) == "200 500 200");
    CHECK(answers(got)[0].body == "one two");
  }
  CHECK(b.faults.total() == 2);
}

// -- factories
// -----------------------------------------------------------------------------------------------

// The first one can be made, the next two cannot.
struct fragile {
  explicit fragile(int& made) {
    if (++made == 2 || made == 3) throw std::runtime_error("cannot be made");
  }
  http::response operator()(const http::request& r) {
    if (r.query() == "throw") throw std::runtime_error("trap");
    return http::response::text("made");
  }
};

TEST_CASE("a factory that throws at the start is an error that names its route") {
  served b;
  int made = 1;
  b.routes.get("/x", factory{[&made] { return fragile(made); }});
  const auto set = route_set::make(b.routes, b.time, b.faults, nullptr);
  REQUIRE(set);
  CHECK_THROWS_WITH_AS(supervised_dispatcher(**set, 0),
                       "route GET /x: its factory threw std::runtime_error: cannot be made",
                       std::runtime_error);
}

TEST_CASE("a factory that throws at a restart is a fault, and tried again with the next request") {
  served b;
  int made = 0;
  b.routes.get("/x", factory{[&made] { return fragile(made); }}, allowing(5));
  b.start();
  line l(b);
  CHECK(status_of(l, "/x?throw") == 500);
  CHECK(status_of(l, "/x") == 503);
  CHECK(status_of(l, "/x") == 200);
  CHECK(b.faults.total() == 3);
  CHECK(b.set->restarts() == 1);
}

TEST_CASE("a factory that throws beyond the intensity is left alone until the back-off is over") {
  served b;
  int made = 0;
  b.routes.get("/x", factory{[&made] { return fragile(made); }}, allowing(1));
  b.start();
  line l(b);
  CHECK(status_of(l, "/x?throw") == 500);
  REQUIRE(made == 2);
  CHECK(status_of(l, "/x") == 503);
  CHECK(made == 2);
  b.advance(milliseconds(1'000));
  CHECK(status_of(l, "/x") == 503);
  CHECK(made == 3);
  b.advance(milliseconds(2'000));
  CHECK(status_of(l, "/x") == 200);
}

TEST_CASE("each shard has an instance of its own") {
  served b;
  b.routes.get("/x", counting{});
  b.start();
  supervised_dispatcher other(*b.set, 8);
  line l(b);
  CHECK(ask(l, get("/x")).body == "1");
  b.handlers.serve = [&](actors::exchange& x) { other.dispatch(x); };
  CHECK(ask(l, get("/x")).body == "1");
  b.handlers.serve = [&](actors::exchange& x) { b.dispatcher->dispatch(x); };
  CHECK(ask(l, get("/x")).body == "2");
}

TEST_CASE("a temporary child that has failed is not started again") {
  served b;
  child_spec spec = allowing(10);
  spec.restart = restart_type::temporary;
  b.routes.get("/x", counting{}, spec);
  b.start();
  line l(b);
  CHECK(status_of(l, "/x") == 200);
  CHECK(status_of(l, "/x?throw") == 500);
  const auto refused = ask(l, get("/x"));
  CHECK(refused.status == 503);
  CHECK(refused.head.find("Retry-After") == std::string::npos);  // there is no use in it
  b.advance(std::chrono::hours(1));
  line later(b);
  CHECK(status_of(later, "/x") == 503);
  CHECK(b.set->restarts() == 0);
}

// -- coroutines
// ----------------------------------------------------------------------------------------------

struct sleeping : served {
  std::shared_ptr<int> instances = std::make_shared<int>(0);
  sleeping() {
    routes.get("/x/*how", sleeper{instances}, allowing(5));
    start();
    idle = instances.use_count();
  }
  long idle = 0;
};

TEST_CASE("a coroutine that throws after it suspended is trapped like any other") {
  sleeping b;
  line l(b);
  l.deliver(get("/x/throw?1"));
  CHECK(l.wire.sent().empty());
  b.advance(milliseconds(1'010));
  CHECK(statuses(l.take()) == "500");
  CHECK(b.faults.recent().at(0).what == "after suspension");
  CHECK(b.set->restarts() == 1);
  CHECK(b.counters().trapped == 1);
  CHECK(l.balances());
}

TEST_CASE("a coroutine in flight keeps its old instance alive over a restart") {
  sleeping b;
  line slow(b), quick(b);
  slow.deliver(get("/x/fine?5"));
  quick.deliver(get("/x/throw?1"));
  const long before = b.instances.use_count();
  b.advance(milliseconds(1'010));
  CHECK(statuses(quick.take()) == "500");
  CHECK(b.instances.use_count() == before + 1);  // the old one and the new one
  b.advance(seconds(5));
  CHECK(bodies(slow.take()) == "1");
  CHECK(b.instances.use_count() == before);
}

// Regression: the trap of a coroutine that ran in the old instance threw the new one away.
TEST_CASE("a coroutine of an old instance that throws late does not cost the new one its state") {
  sleeping b;
  line late(b), first(b), l(b);
  late.deliver(get("/x/throw?5"));
  first.deliver(get("/x/throw?1"));
  b.advance(milliseconds(1'010));
  REQUIRE(statuses(first.take()) == "500");
  CHECK(ask(l, get("/x/fine?0")).body == "1");
  b.advance(seconds(5));
  REQUIRE(statuses(late.take()) == "500");
  CHECK(ask(l, get("/x/fine?0")).body == "2");
  CHECK(b.set->restarts() == 1);
  CHECK(b.faults.total() == 2);
}

TEST_CASE("a client that leaves cancels its coroutine without a fault") {
  sleeping b;
  line l(b);
  l.deliver(get("/x/throw?1"));
  l.end(receive_end::reset);
  b.advance(seconds(2));
  CHECK(b.faults.total() == 0);
  CHECK(b.counters().aborted == 1);
  CHECK(l.balances());
}

}  // namespace
}  // namespace bulkhead::supervision
