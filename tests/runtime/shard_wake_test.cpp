// Messages between threads: none is lost, and few of them cost a system call.
#include <bulkhead/runtime/shard.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

// A shard whose loop runs on a thread of its own.
struct running_shard {
  system_clock time;
  shard s{0, time};
  std::thread loop{[this] { s.run(); }};
  ~running_shard() {
    s.stop();
    loop.join();
  }
};

struct tally final : runnable {
  std::atomic<int>* count = nullptr;
  void run(shard&) noexcept override { count->fetch_add(1); }
};

TEST_CASE("a burst of 10,000 messages to a busy shard costs at most one wake-up") {
  std::atomic<int> count{0};
  std::vector<tally> burst(10'000);
  for (auto& one : burst) one.count = &count;
  running_shard to;
  std::latch busy(1), sent(1);
  to.s.post([&] {
    busy.count_down();
    sent.wait();
  });
  busy.wait();
  const auto before = to.s.wake_ups();
  for (auto& one : burst) to.s.schedule(one);
  CHECK(to.s.wake_ups() == before);
  sent.count_down();
  while (count != 10'000) std::this_thread::yield();
}

TEST_CASE("four threads send to one shard at once and every message runs exactly once") {
  constexpr int threads = 4, each = 5000;
  std::atomic<int> count{0};
  std::vector<tally> all(threads * each);
  for (auto& one : all) one.count = &count;
  {
    running_shard to;
    std::vector<std::thread> senders;
    for (int i = 0; i < threads; ++i) {
      senders.emplace_back([&, i] {
        for (int j = 0; j < each; ++j) to.s.schedule(all[static_cast<std::size_t>(i * each + j)]);
      });
    }
    for (auto& one : senders) one.join();
    while (count != threads * each) std::this_thread::yield();
  }
  CHECK(count == threads * each);
}

TEST_CASE("messages of one thread arrive in its order") {
  std::vector<int> seen;
  {
    running_shard to;
    for (int i = 0; i < 1000; ++i) to.s.post([&seen, i] { seen.push_back(i); });
  }  // stop() drains
  REQUIRE(seen.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("posts from two threads are all run") {
  int count = 0;
  {
    running_shard to;
    const auto send = [&] {
      for (int i = 0; i < 2000; ++i) to.s.post([&count] { ++count; });
    };
    std::thread other(send);
    send();
    other.join();
  }
  CHECK(count == 4000);
}

// Two shards hand one ball back and forth. A single lost wake-up stops the game for ever.
TEST_CASE("no wake-up is lost in 20,000 exchanges between two sleeping shards") {
  struct player final : runnable {
    shard* other_side = nullptr;
    player* other = nullptr;
    int left = 0;
    std::atomic<bool>* over = nullptr;
    void run(shard&) noexcept override {
      if (--left == 0) {
        *over = true;
        over->notify_all();
        return;
      }
      other_side->schedule(*other);
    }
  };
  std::atomic<bool> over{false};
  running_shard a, b;
  player on_a, on_b;
  on_a.other_side = &b.s;
  on_a.other = &on_b;
  on_b.other_side = &a.s;
  on_b.other = &on_a;
  on_a.left = on_b.left = 20'000;
  on_a.over = on_b.over = &over;
  a.s.schedule(on_a);
  over.wait(false);
  CHECK(on_a.left == 0);
}

}  // namespace
}  // namespace bulkhead::runtime
