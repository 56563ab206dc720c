#include <bulkhead/runtime/shard.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

struct counting final : runnable {
  int runs = 0;
  std::function<void(shard&)> act = [](shard&) {};
  void run(shard& on) noexcept override {
    ++runs;
    act(on);
  }
};

struct noting final : runnable {
  std::vector<int>* log;
  int name;
  noting(std::vector<int>& l, int n) : log(&l), name(n) {}
  void run(shard&) noexcept override { log->push_back(name); }
};

// -- the run queue --------------------------------------------------------------------------------

TEST_CASE("runnables run in the order in which they were scheduled, each once") {
  const system_clock time;
  shard s(0, time);
  std::vector<int> log;
  std::vector<std::unique_ptr<noting>> all;
  for (int i = 0; i < 5; ++i) all.push_back(std::make_unique<noting>(log, i));
  for (auto& one : all) s.schedule(*one);  // from outside: through the inbox
  s.turn(false);
  CHECK(log == std::vector<int>{0, 1, 2, 3, 4});
  s.turn(false);
  CHECK(log.size() == 5);
}

TEST_CASE("a runnable that queues itself again waits for the next turn") {
  const system_clock time;
  shard s(0, time);
  counting again;
  again.act = [&](shard& on) { on.schedule(again); };
  s.schedule(again);
  s.turn(false);
  CHECK(again.runs == 1);
  s.turn(true);  // must not block: the queue is not empty
  CHECK(again.runs == 2);
}

TEST_CASE("a runnable may destroy itself") {
  struct dying final : runnable {
    void run(shard&) noexcept override { delete this; }
  };
  const system_clock time;
  shard s(0, time);
  s.schedule(*new dying);
  s.schedule(*new dying);
  s.turn(false);
}

TEST_CASE("a shard is current on its thread during a turn, and nowhere else") {
  const system_clock time;
  shard s(7, time);
  CHECK(shard::current() == nullptr);
  shard* seen = nullptr;
  s.post([&] { seen = shard::current(); });
  s.turn(false);
  CHECK(seen == &s);
  CHECK(shard::current() == nullptr);
  s.post([&] { s.stop(); });
  s.run();
  CHECK(shard::current() == nullptr);
  CHECK(s.index() == 7);
}

// -- stop and drain -------------------------------------------------------------------------------

TEST_CASE("run drains what is queued after stop") {
  const system_clock time;
  shard s(0, time);
  counting last;
  bool nested = false;
  s.post([&] {
    s.stop();
    s.schedule(last);
    s.post([&] { s.post([&] { nested = true; }); });
  });
  s.run();
  CHECK(last.runs == 1);
  CHECK(nested);
}

TEST_CASE("a runnable that never rests does not keep run from returning") {
  const system_clock time;
  shard s(0, time);
  counting restless;
  restless.act = [&](shard& on) { on.schedule(restless); };
  s.schedule(restless);
  s.stop();
  s.run();
  CHECK(restless.runs > 0);
}

TEST_CASE("what is posted after the end is destroyed unrun") {
  const system_clock time;
  shard s(0, time);
  s.stop();
  s.run();
  const auto witness = std::make_shared<int>(0);
  bool ran = false;
  s.post([&ran, witness] { ran = true; });
  CHECK(witness.use_count() == 1);
  CHECK_FALSE(ran);
}

TEST_CASE("what was posted to a shard that never ran is destroyed with it") {
  const system_clock time;
  const auto witness = std::make_shared<int>(0);
  {
    shard s(0, time);
    s.post([witness] {});
    CHECK(witness.use_count() == 2);
  }
  CHECK(witness.use_count() == 1);
}

TEST_CASE("stop from another thread wakes a shard that sleeps without a deadline") {
  const system_clock time;
  shard s(0, time);
  std::atomic<bool> running{false};
  std::thread loop([&] {
    s.post([&] { running = true; });
    s.run();
  });
  while (!running) std::this_thread::yield();
  s.stop();
  loop.join();
}

// -- timers ---------------------------------------------------------------------------------------

TEST_CASE("a sleeping shard wakes for its timer, not early and without spinning") {
  const system_clock time;
  shard s(0, time);
  steady_time fired{};
  struct owner {
    shard& s;
    steady_time& fired;
  } o{s, fired};
  timer t(
      [](void* self) noexcept {
        auto* own = static_cast<owner*>(self);
        own->fired = own->s.time().now();
      },
      &o);
  const steady_time due = time.now() + milliseconds(70);  // crosses a level of the wheel
  s.timers().arm(t, due);
  int turns = 0;
  while (t.armed()) {
    s.turn(true);
    ++turns;
  }
  CHECK(fired >= due);
  CHECK(turns <= 4);
}

TEST_CASE("time stands still within a turn and moves between turns") {
  virtual_clock time;
  shard s(0, time);
  const steady_time before = s.now();
  time.advance(milliseconds(5));
  CHECK(s.now() == before);
  s.turn(false);
  CHECK(s.now() == before + milliseconds(5));
}

TEST_CASE("a turn handles sockets, then timers, then the run queue, then burials") {
  virtual_clock time;
  shard s(0, time);
  std::vector<int> log;
  noting queued(log, 3);
  struct source final : io_source {
    std::vector<int>& log;
    shard& on;
    noting& queued;
    source(std::vector<int>& l, shard& s_, noting& q) : log(l), on(s_), queued(q) {}
    void on_ready(std::uint32_t) noexcept override {
      log.push_back(1);
      on.schedule(queued);
      on.bury([](void* l) noexcept { static_cast<std::vector<int>*>(l)->push_back(4); }, &log);
    }
  };
  auto [ours, theirs] = unix_pair();
  source readable(log, s, queued);
  REQUIRE(s.watch(ours.get(), EPOLLIN, readable));
  write_all(theirs, "x");
  timer t([](void* l) noexcept { static_cast<std::vector<int>*>(l)->push_back(2); }, &log);
  s.timers().arm(t, s.now() + milliseconds(1));
  time.advance(milliseconds(1));
  s.turn(false);
  CHECK(log == std::vector<int>{1, 2, 3, 4});
  s.unwatch(ours.get());
}

// -- burials --------------------------------------------------------------------------------------

TEST_CASE("the shard does not sleep on a burial, and a burial may bring another") {
  const system_clock time;
  shard s(0, time);
  struct grave {
    shard& s;
    int held = 0;
  } g{s};
  const auto second = [](void* o) noexcept { ++static_cast<grave*>(o)->held; };
  static auto* const second_fn = +second;
  s.bury(
      [](void* o) noexcept {
        auto* own = static_cast<grave*>(o);
        ++own->held;
        own->s.bury(second_fn, o);
      },
      &g);
  s.turn(true);
  CHECK(g.held == 2);
}

TEST_CASE("a source that is buried in a batch may still be in that batch") {
  const system_clock time;
  shard s(0, time);
  struct source final : io_source {
    shard& on;
    source** other = nullptr;
    int fd;
    int& calls;
    bool dead = false;
    source(shard& s_, int f, int& c) : on(s_), fd(f), calls(c) {}
    void on_ready(std::uint32_t) noexcept override {
      if (dead) return;
      ++calls;
      (*other)->dead = true;
      on.unwatch((*other)->fd);
      on.bury(std::unique_ptr<io_source>(*other));
      on.unwatch(fd);
      dead = true;
      on.bury(std::unique_ptr<io_source>(this));
    }
  };
  auto [a, a_peer] = unix_pair();
  auto [b, b_peer] = unix_pair();
  int calls = 0;
  auto* first = new source(s, a.get(), calls);
  auto* second = new source(s, b.get(), calls);
  first->other = &second;
  second->other = &first;
  REQUIRE(s.watch(a.get(), EPOLLIN, *first));
  REQUIRE(s.watch(b.get(), EPOLLIN, *second));
  write_all(a_peer, "x");
  write_all(b_peer, "x");
  s.turn(false);
  CHECK(calls == 1);
}

TEST_CASE("watch says why the kernel refused") {
  const system_clock time;
  shard s(0, time);
  struct deaf final : io_source {
    void on_ready(std::uint32_t) noexcept override {}
  } source;
  CHECK_FALSE(s.watch(-1, EPOLLIN, source));
  CHECK(errno == EBADF);
}

}  // namespace
}  // namespace bulkhead::runtime
