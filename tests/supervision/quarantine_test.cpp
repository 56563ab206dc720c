// A route out of service: who is refused, who is let through to see, and what comes of it.
#include <bulkhead/supervision/quarantine.hpp>

#include <doctest/doctest.h>

#include <string>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct bench {
  quarantine q;
  runtime::virtual_clock time;

  // "serve", "probe", or the wait in milliseconds.
  std::string enter(std::uint64_t request) {
    const admission a = q.enter(request, time.now());
    switch (a.how) {
      case admission::kind::serve:
        return "serve";
      case admission::kind::probe:
        return "probe";
      case admission::kind::refuse:
        break;
    }
    return a.wait == quarantine::for_good ? "for good" : std::to_string(a.wait.count());
  }
  std::string_view state() { return to_string(q.state(time.now())); }
  void close(milliseconds wait = seconds(4)) { q.close(wait, time.now()); }
};

TEST_CASE("in service every request is served") {
  bench b;
  CHECK(b.enter(1) == "serve");
  CHECK(b.enter(2) == "serve");
  CHECK(b.state() == "in_service");
}

TEST_CASE("quarantined, every request is refused until the wait is over") {
  bench b;
  b.close();
  CHECK(b.enter(1) == "4000");
  b.time.advance(milliseconds(3'999));
  CHECK(b.enter(2) == "1");
  CHECK(b.state() == "backing_off");
}

TEST_CASE("after the wait one request is let through, and others are told to come back soon") {
  bench b;
  b.close();
  b.time.advance(seconds(4));
  CHECK(b.state() == "backing_off");  // until somebody asks
  CHECK(b.enter(1) == "probe");
  CHECK(b.enter(2) == "1000");
  CHECK(b.enter(3) == "1000");
  CHECK(b.state() == "probing");
}

TEST_CASE("a probe that succeeds puts the route back in service, another request does not") {
  bench b;
  b.close();
  CHECK_FALSE(b.q.succeeded(1));
  b.time.advance(seconds(4));
  CHECK(b.enter(1) == "probe");
  CHECK_FALSE(b.q.succeeded(2));
  CHECK(b.state() == "probing");
  CHECK(b.q.succeeded(1));
  CHECK(b.state() == "in_service");
  CHECK(b.enter(3) == "serve");
}

TEST_CASE("a close ends the probe: its answer, if it comes, means nothing") {
  bench b;
  b.close();
  b.time.advance(seconds(4));
  CHECK(b.enter(1) == "probe");
  b.close(seconds(8));
  CHECK_FALSE(b.q.is_probe(1));
  CHECK_FALSE(b.q.succeeded(1));
  CHECK(b.enter(2) == "8000");
}

TEST_CASE(
    "a probe that nothing is heard of gives way to another after the wait, then more slowly") {
  bench b;
  b.close();
  b.time.advance(seconds(4));
  CHECK(b.enter(1) == "probe");
  b.time.advance(milliseconds(3'999));
  CHECK(b.enter(2) == "1");
  b.time.advance(milliseconds(1));
  CHECK(b.enter(3) == "probe");
  b.time.advance(seconds(4));
  CHECK(b.enter(4) == "1000");
  b.time.advance(seconds(4));
  CHECK(b.enter(5) == "probe");
}

TEST_CASE("slots stop growing at five minutes, or at the wait if that is longer") {
  bench b;
  b.close(minutes(4));
  b.time.advance(minutes(4));
  CHECK(b.enter(1) == "probe");
  b.time.advance(minutes(4));
  CHECK(b.enter(2) == "probe");
  b.time.advance(minutes(5));
  CHECK(b.enter(3) == "probe");

  b.close(minutes(10));
  b.time.advance(minutes(10));
  CHECK(b.enter(4) == "probe");
  b.time.advance(minutes(10));
  CHECK(b.enter(5) == "probe");
  b.time.advance(minutes(5));
  CHECK(b.enter(6) == "1000");
}

// A handler that takes longer than a slot would never come back otherwise.
TEST_CASE("a late answer of the first probe counts, however many came after it") {
  bench b;
  b.close();
  for (std::uint64_t n = 1; n <= 100; ++n) {
    b.time.advance(minutes(5));
    CHECK(b.enter(n) == "probe");
  }
  CHECK(b.q.is_probe(1));
  CHECK(b.q.is_probe(100));
  CHECK_FALSE(b.q.is_probe(99));
  CHECK(b.q.succeeded(1));
  CHECK(b.state() == "in_service");
}

TEST_CASE("a probe that is given back lets the next request through at once") {
  bench b;
  b.close();
  b.time.advance(seconds(4));
  CHECK(b.enter(1) == "probe");
  b.q.give_back(2, b.time.now());
  CHECK(b.enter(3) == "1000");
  CHECK(b.q.probing());
  b.q.give_back(1, b.time.now());
  CHECK_FALSE(b.q.probing());
  CHECK(b.state() == "backing_off");
  CHECK(b.enter(4) == "probe");
  CHECK_FALSE(b.q.succeeded(1));
}

TEST_CASE("closed for good is for good") {
  bench b;
  b.q.close_for_good();
  b.time.advance(std::chrono::hours(24 * 365));
  CHECK(b.enter(1) == "for good");
  CHECK(b.state() == "stopped");
}

}  // namespace
}  // namespace bulkhead::supervision
