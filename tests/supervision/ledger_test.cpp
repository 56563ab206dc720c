// The fault ledger: what it keeps, how it is asked, and that it is bounded.
#include <bulkhead/supervision/ledger.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace bulkhead::supervision {
namespace {

using std::chrono::microseconds;

fault named(std::string child) {
  fault f;
  f.child = std::move(child);
  return f;
}

TEST_CASE("the ledger keeps the newest faults, oldest first, and numbers them all") {
  ledger l(3);
  for (const char* child : {"a", "b", "c", "d", "e"}) l.record(named(child));
  const auto kept = l.recent();
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].child == "c");
  CHECK(kept[0].number == 3);
  CHECK(kept[2].child == "e");
  CHECK(kept[2].number == 5);
  CHECK(l.total() == 5);
}

TEST_CASE("a text that is longer than the ledger keeps is cut, a backtrace later than the others") {
  ledger l;
  fault f = named("GET /");
  f.what = f.detail = std::string(100'000, 'x');
  l.record(f);
  CHECK(l.recent().at(0).what.size() == ledger::longest_text);
  CHECK(l.recent().at(0).detail.size() == ledger::longest_detail);
}

TEST_CASE("a fault is recorded under the number that record() answers, with all that it cost") {
  ledger l(2);
  CHECK(l.record(named("first")) == 1);
  fault f = named("cell");
  f.signal = SIGSEGV;
  f.requests_failed = 3;
  f.sessions_lost = 2;
  f.restart_time = microseconds(40);
  f.detail = "frame 0\nframe 1";
  CHECK(l.record(f) == 2);
  const fault kept = l.recent().at(1);
  CHECK(kept.number == 2);
  CHECK(kept.signal == SIGSEGV);
  CHECK(kept.requests_failed == 3);
  CHECK(kept.sessions_lost == 2);
  CHECK(kept.restart_time == microseconds(40));
  CHECK(kept.detail == "frame 0\nframe 1");
}

TEST_CASE("nothing of a forgotten fault shows in the one that took its place") {
  ledger l(1);
  fault f = named("cell");
  f.signal = SIGABRT;
  f.requests_failed = 1;
  f.sessions_lost = 1;
  f.restart_time = microseconds(1);
  f.detail = "frames";
  l.record(f);
  l.record(named("next"));
  const fault kept = l.recent().at(0);
  CHECK(kept.child == "next");
  CHECK(kept.signal == 0);
  CHECK(kept.requests_failed == 0);
  CHECK(kept.sessions_lost == 0);
  CHECK(kept.restart_time == microseconds(0));
  CHECK(kept.detail.empty());
}

TEST_CASE("a restart's time is added to its fault, and only to that") {
  ledger l(2);
  l.record(named("a"));
  const std::uint64_t b = l.record(named("b"));
  l.restarted(b, microseconds(700));
  CHECK(l.recent().at(0).restart_time == microseconds(0));
  CHECK(l.recent().at(1).restart_time == microseconds(700));
}

TEST_CASE("the time of a restart whose fault is forgotten counts, and changes no other entry") {
  ledger l(2);
  for (const char* child : {"a", "b", "c"}) l.record(named(child));
  l.restarted(1, microseconds(700));
  for (const fault& f : l.recent()) CHECK(f.restart_time == microseconds(0));
  CHECK(l.totals().restart_time == microseconds(700));
}

TEST_CASE("the time of a restart after no fault is ignored") {
  ledger l(2);
  l.record(named("a"));
  l.restarted(0, microseconds(700));
  l.restarted(2, microseconds(700));
  CHECK(l.totals().restart_time == microseconds(0));
}

// A storm of faults must not allocate: the strings keep the memory that the ledger took at first.
TEST_CASE("a fault of any size takes no memory of the ledger that it did not have before") {
  ledger l(1);
  l.record(named("small"));
  fault big = named(std::string(9'999, 'c'));
  big.kind = big.what = big.route = big.action = big.detail = std::string(9'999, 'x');
  const std::size_t before = l.memory();
  for (int i = 0; i < 50; ++i) {
    big.kind = "kind " + std::to_string(i);
    l.record(big);
  }
  CHECK(l.memory() == before);
}

// -- queries
// ---------------------------------------------------------------------------------------------

std::string children(const std::vector<fault>& faults) {
  std::string all;
  for (const fault& f : faults) all += f.child;
  return all;
}

TEST_CASE("a query chooses by child, by number, and the newest up to a limit") {
  ledger l(5);
  for (const char* child : {"x", "x", "a", "b", "a", "c", "a"}) l.record(named(child));
  CHECK(children(l.select({})) == "abaca");
  CHECK(children(l.select({.limit = 2})) == "ca");
  CHECK(children(l.select({.limit = 0})).empty());
  CHECK(children(l.select({.limit = 9})) == "abaca");
  CHECK(children(l.select({.child = "a"})) == "aaa");
  CHECK(children(l.select({.child = "x"})).empty());
  CHECK(children(l.select({.since = 5})) == "ca");
  CHECK(children(l.select({.since = 7})).empty());
  CHECK(children(l.select({.since = 1})) == "abaca");
  const auto both = l.select({.limit = 1, .child = "a", .since = 3});
  REQUIRE(both.size() == 1);
  CHECK(both[0].number == 7);
}

// -- totals
// ----------------------------------------------------------------------------------------------

TEST_CASE("the totals count the forgotten faults too, by kind and by cost") {
  ledger l(1);
  fault f = named("a");
  f.requests_failed = 2;
  f.sessions_lost = 1;
  for (const char* kind : {"A", "B", "A"}) {
    f.kind = kind;
    l.record(f);
  }
  const fault_totals t = l.totals();
  CHECK(t.faults == 3);
  CHECK(t.requests_failed == 6);
  CHECK(t.sessions_lost == 3);
  REQUIRE(t.kinds.size() == 2);
  CHECK(t.kinds[0].kind == "A");
  CHECK(t.kinds[0].faults == 2);
  CHECK(t.kinds[1].kind == "B");
  CHECK(t.kinds[1].faults == 1);
}

TEST_CASE("kinds beyond those that the ledger can name are summed as one, once") {
  ledger l(1);
  fault f = named("a");
  f.kind = "other";
  l.record(f);
  for (std::size_t i = 0; i < ledger::most_kinds + 5; ++i) {
    f.kind = "kind " + std::to_string(i);
    l.record(f);
  }
  const fault_totals t = l.totals();
  REQUIRE(t.kinds.size() == ledger::most_kinds + 1);
  CHECK(t.kinds.back().kind == "other");
  CHECK(t.kinds.back().faults == 6);
  CHECK(std::count_if(t.kinds.begin(), t.kinds.end(),
                      [](const auto& k) { return k.kind == "other"; }) == 1);
}

TEST_CASE("faults of several threads are all numbered, each once") {
  ledger l(1'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&l] {
      for (int i = 0; i < 100; ++i) l.record(named("x"));
    });
  }
  for (auto& t : threads) t.join();
  const auto kept = l.recent();
  REQUIRE(kept.size() == 300);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].number == i + 1);
}

}  // namespace
}  // namespace bulkhead::supervision
