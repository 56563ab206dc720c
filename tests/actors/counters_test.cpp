// The numbers that must balance.
#include <bulkhead/actors/counters.hpp>

#include <doctest/doctest.h>

namespace bulkhead::actors {
namespace {

TEST_CASE("a snapshot derives what is open, in flight and lost") {
  shard_counters c;
  c.admitted.add(5);
  c.closed.add(2);
  c.started.add(10);
  c.completed.add(4);
  c.trapped.add(3);
  c.aborted.add(1);
  c.messages_sent.add(9);
  c.messages_handled.add(6);
  c.messages_refused.add(2);
  counters_snapshot s;
  s.add(c);
  CHECK(s.open == 3);
  CHECK(s.in_flight == 2);
  CHECK(s.lost == 1);
}

TEST_CASE("a snapshot sums its shards") {
  shard_counters a, c;
  a.admitted.add(2);
  c.admitted.add(3);
  a.completed.add(1);
  a.started.add(1);
  c.started.add(1);
  counters_snapshot s;
  s.add(a);
  s.add(c);
  CHECK(s.admitted == 5);
  CHECK(s.started == 2);
  CHECK(s.in_flight == 1);
}

TEST_CASE("counters print as one line of JSON with every name") {
  counters_snapshot s;
  s.completed = 4501;
  s.trapped = 400;
  const std::string json = s.to_json();
  CHECK(json.front() == '{');
  CHECK(json.back() == '}');
  CHECK(json.find('\n') == std::string::npos);
  CHECK(json.find("\"completed\":4501,") != std::string::npos);
  CHECK(json.find("\"trapped\":400,") != std::string::npos);
  for (const char* name :
       {"admitted", "open", "closed", "rejected", "started", "in_flight", "aborted", "restarted",
        "abandoned_threads", "stalls", "lost", "truncated", "late", "malformed"}) {
    CAPTURE(name);
    CHECK(json.find('"' + std::string(name) + "\":0") != std::string::npos);
  }
}

}  // namespace
}  // namespace bulkhead::actors
