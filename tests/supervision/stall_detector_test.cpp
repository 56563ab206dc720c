// When a pulse that does not move is a stall.
#include <bulkhead/supervision/stall_detector.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace bulkhead::supervision {
namespace {

using runtime::milliseconds;

struct looks {
  stall_detector d{milliseconds(20)};
  runtime::steady_time now{std::chrono::hours(1)};
  std::vector<long> reports;  // of those that are to be said
  std::vector<std::uint64_t> unsaid;
  int firsts = 0;

  // Every 10 ms, half the threshold, for so long.
  void look(std::uint64_t pulse, int times) {
    for (int i = 0; i < times; ++i) {
      now += milliseconds(10);
      if (const auto s = d.look(pulse, now)) {
        if (s->say) {
          reports.push_back(s->held.count());
          unsaid.push_back(s->unsaid);
        }
        firsts += s->first ? 1 : 0;
      }
    }
  }
};

constexpr std::uint64_t awake = 5, asleep = 6;

TEST_CASE("a shard that is awake and does not move for the threshold is stalled") {
  looks l;
  l.look(awake, 2);
  CHECK(l.reports.empty());
  l.look(awake, 1);
  CHECK(l.reports == std::vector<long>{20});
}

TEST_CASE("a shard that moves between looks is not stalled") {
  looks l;
  for (std::uint64_t p = awake; p < awake + 200; p += 2) l.look(p, 2);
  CHECK(l.reports.empty());
}

TEST_CASE("a shard that is asleep is not stalled, however long") {
  looks l;
  l.look(asleep, 1000);
  CHECK(l.reports.empty());
}

TEST_CASE("a stall is said once, and again when it has become ten times longer") {
  looks l;
  l.look(awake, 1000);  // 10 s
  CHECK(l.reports == std::vector<long>{20, 200, 2000});
  CHECK(l.firsts == 1);
  l.look(awake + 2, 3);
  CHECK(l.firsts == 2);
}

TEST_CASE("a shard that stalls again and again is counted each time, and said once a second") {
  looks l;
  for (std::uint64_t p = awake; p < awake + 100; p += 2) l.look(p, 4);  // 50 stalls in 2 s
  CHECK(l.firsts == 50);
  CHECK(l.reports == std::vector<long>{20, 20});
  CHECK(l.unsaid == std::vector<std::uint64_t>{0, 24});
}

TEST_CASE("a stall that lasts is said although another one was said just before") {
  looks l;
  l.look(awake, 3);
  l.look(awake + 2, 21);
  CHECK(l.reports == std::vector<long>{20, 200});
  CHECK(l.unsaid == std::vector<std::uint64_t>{0, 1});
}

// A machine that stood still, or a watchdog that was not scheduled: nobody's stall.
TEST_CASE("a pause of the watchdog itself is no stall of the shard") {
  looks l;
  l.look(awake, 1);
  l.now += std::chrono::seconds(10);
  l.look(awake, 1);
  CHECK(l.reports.empty());
  l.look(awake + 2, 1);
  CHECK(l.reports.empty());
}

TEST_CASE("a shard whose thread waits for a processor is not stalled, and is when it has one") {
  looks l;
  std::chrono::nanoseconds starved{0};
  const auto look = [&](milliseconds waited) {
    starved += waited;
    l.now += milliseconds(10);
    return l.d.look(awake, l.now, starved).has_value();
  };
  CHECK_FALSE(look(milliseconds(0)));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(look(milliseconds(10)));
  CHECK_FALSE(look(milliseconds(5)));
  CHECK_FALSE(look(milliseconds(5)));
  CHECK(look(milliseconds(0)));
}

}  // namespace
}  // namespace bulkhead::supervision
