// Asking another thread where it is.
#include <bulkhead/runtime/signals.hpp>
#include <bulkhead/runtime/stack_sample.hpp>

#include <optional>
#include <string>
#include <tests/runtime/gate.hpp>
#include <thread>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

using tests::gate;

// A thread as a shard's: all signals blocked, and stuck until it is released.
struct stuck_thread {
  heartbeat heart;
  gate inside, release;
  std::thread thread;

  explicit stuck_thread(bool sampled) {
    const all_signals_blocked for_it;
    thread = std::thread([this, sampled] {
      std::optional<may_be_sampled> here;
      if (sampled) here.emplace(heart);
      const heartbeat::busy_with it(heart, {42, "GET", "/stuck"});
      inside.open();
      release.pass();
    });
    inside.pass();
  }
  ~stuck_thread() {
    release.open();
    thread.join();
  }
};

TEST_CASE("a thread that waits says where it is and what it is busy with") {
  REQUIRE(prepare_stack_samples());
  stuck_thread t(true);
  for (int i = 0; i < 3; ++i) {
    const stack_trace found = look_at(t.heart, patience);
    CHECK(found.task == 42);
    CHECK(found.what == "GET /stuck");
    REQUIRE(found.frames.size() > 2);
    std::string all;
    for (const std::string& f : found.frames) all += f + '\n';
    CAPTURE(all);
    CHECK(all.find("libc.so") != std::string::npos);
    CHECK(all.find("test_runtime+0x") != std::string::npos);
    CHECK(all.find("look_at") == std::string::npos);  // its own stack, not that of who asks
  }
}

TEST_CASE("a path that is longer than there is room for is cut") {
  REQUIRE(prepare_stack_samples());
  const std::string path = '/' + std::string(1000, 'x');
  heartbeat heart;
  gate inside, release;
  std::thread t([&] {
    const may_be_sampled here(heart);
    const heartbeat::busy_with it(heart, {1, "GET", path});
    inside.open();
    release.pass();
  });
  inside.pass();
  const stack_trace found = look_at(heart, patience);
  release.open();
  t.join();
  CHECK(found.what.size() == 256);
  CHECK(found.what.starts_with("GET /xxx"));
}

TEST_CASE("a thread that did not agree, or has ended, is not asked") {
  REQUIRE(prepare_stack_samples());
  stuck_thread never(false);
  CHECK(look_at(never.heart, patience).frames.empty());
  heartbeat ended;
  std::thread([&] { const may_be_sampled here(ended); }).join();
  CHECK(look_at(ended, patience).frames.empty());
}

TEST_CASE("a thread that does not answer costs its asker no more than its patience") {
  REQUIRE(prepare_stack_samples());
  heartbeat heart;
  gate inside, release;
  std::thread t([&] {
    const may_be_sampled here(heart);
    const all_signals_blocked deaf;
    inside.open();
    release.pass();
  });
  inside.pass();
  CHECK(look_at(heart, milliseconds(10)).frames.empty());
  CHECK(look_at(heart, milliseconds(10)).frames.empty());  // it still owes the first answer
  release.open();
  t.join();
}

TEST_CASE("how long a thread waited for a processor is known for one that agreed, and only grows") {
  stuck_thread t(true);
  const auto first = waited_for_processor(t.heart);
  CHECK(first.count() > 0);
  CHECK(waited_for_processor(t.heart) >= first);
  stuck_thread never(false);
  CHECK(waited_for_processor(never.heart).count() == 0);
}

TEST_CASE("a signal that somebody else sends is ignored") {
  REQUIRE(prepare_stack_samples());
  stuck_thread t(true);
  CHECK(::pthread_kill(t.thread.native_handle(), sampling_signal()) == 0);
  CHECK(look_at(t.heart, patience).task == 42);
}

}  // namespace
}  // namespace bulkhead::runtime
