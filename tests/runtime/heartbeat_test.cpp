// A shard's pulse: moving while it goes on, odd while it is awake.
#include <bulkhead/runtime/heartbeat.hpp>

#include <thread>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

struct sleeper final : pulse_watcher {
  int woken = 0;
  void sleep(bool yes) { set_asleep(yes); }
  void on_awake() noexcept override {
    ++woken;
    set_asleep(false);
  }
};

TEST_CASE("a pulse moves with each beat, each sleep and each awakening, and is odd while awake") {
  heartbeat h;
  std::uint64_t before = h.pulse();
  CHECK_FALSE(heartbeat::awake(before));
  const auto moved = [&] { return std::exchange(before, h.pulse()) != h.pulse(); };
  h.wake_up();
  CHECK(heartbeat::awake(h.pulse()));
  CHECK(moved());
  h.beat();
  CHECK(heartbeat::awake(h.pulse()));
  CHECK(moved());
  h.fall_asleep();
  CHECK_FALSE(heartbeat::awake(h.pulse()));
  CHECK(moved());
  h.fall_asleep();
  CHECK_FALSE(heartbeat::awake(h.pulse()));
  h.wake_up();
  h.wake_up();
  CHECK(heartbeat::awake(h.pulse()));
}

TEST_CASE("who is busy says with what, and what it was busy with before") {
  heartbeat h;
  h.wake_up();
  const auto idle = h.pulse();
  {
    const heartbeat::busy_with outer(h, {1, "GET", "/a"});
    CHECK(h.pulse() != idle);
    {
      const heartbeat::busy_with inner(h, {2, "PUT", "/b"});
      CHECK(h.doing()->path == "/b");
    }
    CHECK(h.doing()->id == 1);
  }
  CHECK(h.doing() == nullptr);
  CHECK(heartbeat::awake(h.pulse()));
}

TEST_CASE("a shard that wakes up wakes a watcher that sleeps, once") {
  heartbeat h;
  sleeper w;
  h.watched_by(&w);
  h.wake_up();
  CHECK(w.woken == 0);
  w.sleep(true);
  h.fall_asleep();
  h.beat();
  CHECK(w.woken == 0);
  h.wake_up();
  h.wake_up();
  CHECK(w.woken == 1);
}

TEST_CASE("a shard is asleep while it waits for events, and awake while it handles them") {
  system_clock time;
  shard s(0, time);
  bool awake = false, slept = false;
  std::uint64_t first = 0;
  const auto pulse = [&] { return s.heart().pulse(); };
  std::thread waker;
  s.post([&] {
    awake = heartbeat::awake(pulse());
    first = pulse();
    waker = std::thread([&] {
      const auto give_up = std::chrono::steady_clock::now() + patience;
      while (heartbeat::awake(pulse()) && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::yield();
      }
      slept = !heartbeat::awake(pulse());
      s.stop();
    });
  });
  s.run();
  waker.join();
  CHECK(awake);
  CHECK(slept);
  CHECK(pulse() != first);
  CHECK_FALSE(heartbeat::awake(pulse()));  // for good
}

TEST_CASE("each thing that a turn runs is a beat of its own") {
  virtual_clock time;
  shard s(0, time);
  struct look final : runnable {
    std::uint64_t pulse = 0;
    void run(shard& on) noexcept override { pulse = on.heart().pulse(); }
  } a, b;
  s.schedule(a);
  s.schedule(b);
  s.turn(false);
  CHECK(a.pulse != b.pulse);
}

}  // namespace
}  // namespace bulkhead::runtime
