// A route beyond its restart intensity, inline: refusals, probes, and how it comes back.
#include "support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

// -- intensity
// -----------------------------------------------------------------------------------------------

TEST_CASE("beyond the intensity the route answers 503 with Retry-After, without its handler") {
  served b;
  int calls = 0;
  b.routes.get(
      "/x",
      [&calls](const http::request&) -> http::response {
        ++calls;
        throw std::runtime_error("always");
      },
      allowing(2));
  b.start();
  line l(b);
  for (int i = 0; i < 3; ++i) CHECK(status_of(l, "/x") == 500);
  const auto refused = ask(l, get("/x"));
  CHECK(refused.status == 503);
  CHECK(refused.head.find("Retry-After: 1\r\n") != std::string::npos);
  CHECK(calls == 3);
  CHECK(b.counters().completed == 1);  // a refusal is an answer, not a trap
}

TEST_CASE("after the back-off the route is tried again, and serves") {
  served b;
  b.routes.get("/x", counting{}, allowing(0));
  b.start();
  line l(b);
  CHECK(status_of(l, "/x?throw") == 500);
  b.advance(milliseconds(999));
  CHECK(status_of(l, "/x") == 503);
  b.advance(milliseconds(1));
  CHECK(status_of(l, "/x") == 200);
  CHECK(b.set->restarts() == 1);
}

TEST_CASE("a probe that fails waits longer, and Retry-After says so") {
  served b;
  b.routes.get("/x", counting{}, allowing(0));
  b.start();
  line l(b);
  CHECK(status_of(l, "/x?throw") == 500);
  b.advance(milliseconds(1'000));
  CHECK(status_of(l, "/x?throw") == 500);
  CHECK(ask(l, get("/x")).head.find("Retry-After: 2\r\n") != std::string::npos);
}

TEST_CASE("a probe that succeeds late counts, and a fault soon after backs off longer") {
  served b;
  b.routes.get("/x", counting{}, allowing(0));
  b.start();
  line l(b);
  CHECK(status_of(l, "/x?throw") == 500);
  b.advance(seconds(30));
  CHECK(status_of(l, "/x") == 200);
  CHECK(status_of(l, "/x?throw") == 500);
  CHECK(ask(l, get("/x")).head.find("Retry-After: 2\r\n") != std::string::npos);
}

TEST_CASE("what clients do wrong never counts against a route") {
  served b;
  b.routes.get("/x", counting{}, allowing(0)).post("/x", counting{}, allowing(0));
  b.start();
  for (const char* bad : {"GET /x HTTP/9.9\r\n\r\n", "garbage\r\n\r\n", "GET /x HTTP/1.1\r\n\r\n",
                          "POST /x HTTP/1.1\r\nHost: x\r\n"
                          "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"}) {
    line l(b);
    l.deliver(bad);
  }
  for (const auto how : {receive_end::reset, receive_end::fin}) {
    line l(b);
    l.deliver("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhal");
    l.end(how);
  }
  CHECK(b.faults.total() == 0);
  for (std::size_t route : {0U, 1U}) {
    CHECK(b.supervisor(route).state() == route_state::in_service);
  }
}

// -- probes that take their time ------------------------------------------------------------------

struct quarantined : served {
  quarantined() {
    routes.get("/x/*how", sleeper{std::make_shared<int>(0)}, allowing(0));
    start();
    line l(*this);
    CHECK(status_of(l, "/x/throw?0") == 500);
    advance(seconds(1));
  }
  [[nodiscard]] std::string_view state() const { return to_string(supervisor().state()); }
};

TEST_CASE("while a probe is at work, every other request gets 503, on every session") {
  quarantined b;
  line probe(b), other(b);
  probe.deliver(get("/x/fine?9"));
  CHECK(b.state() == "probing");
  const auto refused = ask(other, get("/x/fine?0"));
  CHECK(refused.status == 503);
  CHECK(refused.head.find("Retry-After: 1\r\n") != std::string::npos);
  line third(b);
  CHECK(status_of(third, "/x/fine?0") == 503);
  CHECK(probe.wire.sent().empty());
}

TEST_CASE("a probe that suspends puts the route back in service when it answers") {
  quarantined b;
  line probe(b), other(b);
  probe.deliver(get("/x/fine?1"));
  b.advance(milliseconds(990));
  CHECK(status_of(other, "/x/fine?0") == 503);
  b.advance(milliseconds(20));
  CHECK(statuses(probe.take()) == "200");
  CHECK(b.state() == "in_service");
  CHECK(status_of(other, "/x/fine?0") == 200);
}

TEST_CASE("a probe that suspends and then throws closes the route for longer") {
  quarantined b;
  line probe(b), other(b);
  probe.deliver(get("/x/throw?1"));
  b.advance(milliseconds(1'010));
  CHECK(statuses(probe.take()) == "500");
  CHECK(b.state() == "backing_off");
  CHECK(ask(other, get("/x/fine?0")).head.find("Retry-After: 2\r\n") != std::string::npos);
}

TEST_CASE(
    "a probe whose client leaves is no fault and keeps the route half-open for its slot only") {
  quarantined b;
  line probe(b), other(b);
  probe.deliver(get("/x/throw?5"));
  probe.end(receive_end::reset);
  CHECK(status_of(other, "/x/fine?0") == 503);
  b.advance(seconds(1));
  CHECK(status_of(other, "/x/fine?0") == 200);
  CHECK(b.state() == "in_service");
  CHECK(b.faults.total() == 1);
}

TEST_CASE("a handler that takes longer than a probe's slot comes back in service all the same") {
  quarantined b;
  line probe(b), other(b);
  probe.deliver(get("/x/fine?20"));
  for (int i = 0; i < 20; ++i) {
    b.advance(milliseconds(1'001));
    line l(b);
    l.deliver(get("/x/fine?20"));
  }
  CHECK(statuses(probe.take()) == "200");
  CHECK(b.state() == "in_service");
}

TEST_CASE("coroutines from before the quarantine that throw do not lengthen the wait") {
  served b;
  b.routes.get("/x/*how", sleeper{std::make_shared<int>(0)}, allowing(0));
  b.start();
  line first(b), second(b), third(b);
  for (line* l : {&first, &second, &third}) l->deliver(get("/x/throw?1"));
  b.advance(milliseconds(1'010));
  for (line* l : {&first, &second, &third}) CHECK(statuses(l->take()) == "500");
  CHECK(b.faults.total() == 3);
  CHECK(b.supervisor().backing_off() <= seconds(1));
}

}  // namespace
}  // namespace bulkhead::supervision
