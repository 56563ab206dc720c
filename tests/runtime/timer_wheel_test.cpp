#include <bulkhead/runtime/timer_wheel.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

namespace bulkhead::runtime {
namespace {

constexpr steady_time zero{};

steady_time at(std::int64_t ms) {
  return zero + milliseconds(ms);
}

// A timer that notes when it expired, by the time of the advance() that ran it.
struct probe {
  std::vector<int>& log;
  int name;
  timer t{[](void* self) noexcept {
            auto* p = static_cast<probe*>(self);
            p->log.push_back(p->name);
          },
          this};
};

TEST_CASE("timers expire in the order of their deadlines, whatever the order of arming") {
  timer_wheel wheel(zero);
  std::vector<int> log;
  probe late{log, 5000}, early{log, 3}, middle{log, 70};
  wheel.arm(late.t, at(5000));
  wheel.arm(early.t, at(3));
  wheel.arm(middle.t, at(70));
  wheel.advance(at(10'000));
  CHECK(log == std::vector<int>{3, 70, 5000});
  CHECK(wheel.armed() == 0);
}

TEST_CASE("a timer is never early, and due within a tick") {
  timer_wheel wheel(zero + std::chrono::microseconds(137));  // ticks are not on whole milliseconds
  std::vector<int> log;
  probe p{log, 1};
  const steady_time when = zero + std::chrono::microseconds(10'500);
  wheel.arm(p.t, when);
  wheel.advance(when - std::chrono::nanoseconds(1));
  CHECK(log.empty());
  wheel.advance(when + milliseconds(1));
  CHECK(log.size() == 1);
}

TEST_CASE("a deadline at a level's boundary is met to the tick") {
  for (const std::int64_t boundary :
       std::initializer_list<std::int64_t>{64, 4096, 262'144, 16'777'216, 33'554'432}) {
    for (const std::int64_t start : std::initializer_list<std::int64_t>{0, 1, 63, boundary - 1}) {
      for (const std::int64_t off : std::initializer_list<std::int64_t>{-1, 0, 1}) {
        const std::int64_t due = boundary + off;
        if (due <= start) continue;
        CAPTURE(due);
        CAPTURE(start);
        timer_wheel wheel(zero);
        wheel.advance(at(start));
        std::vector<int> log;
        probe p{log, 1};
        wheel.arm(p.t, at(due));
        wheel.advance(at(due - 1));
        CHECK(log.empty());
        wheel.advance(at(due));
        CHECK(log.size() == 1);
      }
    }
  }
}

TEST_CASE("a deadline beyond the horizon is filed again until it is near") {
  timer_wheel wheel(zero);
  std::vector<int> log;
  probe p{log, 1};
  constexpr std::int64_t week = 7LL * 24 * 3600 * 1000;
  wheel.arm(p.t, at(week));
  for (std::int64_t now = 0; now < week; now += 3'600'000) wheel.advance(at(now));
  CHECK(log.empty());
  wheel.advance(at(week - 1));
  CHECK(log.empty());
  wheel.advance(at(week));
  CHECK(log.size() == 1);
}

TEST_CASE("a jump of ten years costs no more than what is armed") {
  timer_wheel wheel(zero);
  std::vector<int> log;
  probe p{log, 1};
  constexpr std::int64_t years = 10LL * 365 * 24 * 3600 * 1000;
  wheel.arm(p.t, at(years));
  wheel.advance(at(years));  // walking 3e11 ticks would outlive the test's time limit
  CHECK(log.size() == 1);
}

TEST_CASE("sleeping until next() meets every timer without an idle spin") {
  for (const std::int64_t due :
       std::initializer_list<std::int64_t>{1, 63, 64, 65, 4100, 300'000, 20'000'000}) {
    for (const std::int64_t start :
         std::initializer_list<std::int64_t>{0, 5, 63, 4095, 16'777'215}) {
      CAPTURE(due);
      CAPTURE(start);
      timer_wheel wheel(zero);
      wheel.advance(at(start));
      std::vector<int> log;
      probe p{log, 1};
      wheel.arm(p.t, at(start + due));
      steady_time now = at(start);
      int sleeps = 0;
      while (log.empty() && sleeps < 10) {
        const auto next = wheel.next();
        REQUIRE(next);
        REQUIRE(*next > now);
        REQUIRE(*next <= at(start + due));
        now = *next;
        wheel.advance(now);
        ++sleeps;
      }
      CHECK(now == at(start + due));
      CHECK(sleeps <= 6);
      CHECK_FALSE(wheel.next());
    }
  }
}

TEST_CASE("a time in the past expires at the next advance, though time stands still") {
  timer_wheel wheel(zero);
  wheel.advance(at(1000));
  std::vector<int> log;
  probe past{log, 1}, present{log, 2};
  wheel.arm(past.t, at(10));
  wheel.arm(present.t, at(1000));
  REQUIRE(wheel.next());
  CHECK(*wheel.next() <= at(1000));
  wheel.advance(at(1000));
  CHECK(log.size() == 2);
}

TEST_CASE("arming again moves the timer") {
  timer_wheel wheel(zero);
  std::vector<int> log;
  probe p{log, 1};
  wheel.arm(p.t, at(10));
  wheel.arm(p.t, at(100));
  CHECK(wheel.armed() == 1);
  wheel.advance(at(50));
  CHECK(log.empty());
  wheel.arm(p.t, at(60));
  wheel.advance(at(60));
  CHECK(log.size() == 1);
  CHECK_FALSE(p.t.armed());
}

TEST_CASE("a cancelled or destroyed timer never expires") {
  timer_wheel wheel(zero);
  std::vector<int> log;
  probe cancelled{log, 1};
  wheel.arm(cancelled.t, at(10));
  cancelled.t.cancel();
  {
    probe gone{log, 2};
    wheel.arm(gone.t, at(5000));
  }
  CHECK(wheel.armed() == 0);
  CHECK_FALSE(wheel.next());
  wheel.advance(at(10'000));
  CHECK(log.empty());
}

TEST_CASE("a wheel that is destroyed disarms its timers") {
  std::vector<int> log;
  probe near{log, 1}, far{log, 2}, past{log, 3};
  {
    timer_wheel wheel(zero);
    wheel.arm(near.t, at(1));
    wheel.arm(far.t, at(1'000'000));
    wheel.arm(past.t, zero - milliseconds(1));
  }
  CHECK_FALSE(near.t.armed());
  CHECK_FALSE(far.t.armed());
  CHECK_FALSE(past.t.armed());
}

// -- what callbacks may do ------------------------------------------------------------------------

struct acting {
  std::function<void()> act;
  int runs = 0;
  timer t{[](void* self) noexcept {
            auto* a = static_cast<acting*>(self);
            ++a->runs;
            const auto call = a->act;  // may be replaced, or destroyed with its owner
            call();
          },
          this};
};

TEST_CASE("a callback that arms itself for now runs once an advance") {
  timer_wheel wheel(zero);
  acting again;
  again.act = [&] { wheel.arm(again.t, at(5)); };
  wheel.arm(again.t, at(5));
  wheel.advance(at(5));
  CHECK(again.runs == 1);
  wheel.advance(at(5));
  CHECK(again.runs == 2);
}

TEST_CASE("a callback may cancel or move any other timer of the same tick") {
  timer_wheel wheel(zero);
  std::vector<std::unique_ptr<acting>> all;
  for (int i = 0; i < 9; ++i) all.push_back(std::make_unique<acting>());
  for (auto& one : all) {
    one->act = [&] {  // whoever is first decides for the others
      for (auto& other : all) other->act = [] {};
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % 2 == 0) {
          all[i]->t.cancel();
        } else {
          wheel.arm(all[i]->t, at(200));
        }
      }
    };
    wheel.arm(one->t, at(100));
  }
  wheel.advance(at(100));
  int runs = 0;
  for (auto& one : all) runs += one->runs;
  CHECK(runs == 1);
  CHECK(wheel.armed() == 4);
  wheel.advance(at(200));
  runs = 0;
  for (auto& one : all) runs += one->runs;
  CHECK(runs == 5);
}

TEST_CASE("a callback may destroy itself and every other timer") {
  timer_wheel wheel(zero);
  std::vector<std::unique_ptr<acting>> all;
  int runs = 0;
  for (int i = 0; i < 9; ++i) {
    all.push_back(std::make_unique<acting>());
    all.back()->act = [&] {
      ++runs;
      auto dying = std::move(all);  // ourselves among them
      all.clear();
    };
    wheel.arm(all.back()->t, at(i % 3 == 0 ? 100 : 5000));
  }
  wheel.advance(at(10'000));
  CHECK(runs == 1);
  CHECK(wheel.armed() == 0);
}

}  // namespace
}  // namespace bulkhead::runtime
