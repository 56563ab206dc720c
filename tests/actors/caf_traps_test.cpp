// The traps of CAF 0.17 around threads and life (caf.md section 4), each with its number. The
// others: 5, 6, 7, 9, 10 and 12 in slim_actor_test.cpp, 7 and 9 in connection_actor_test.cpp,
// credit (5) in bounded_actor_test.cpp. Avoided by construction, so without a test: 8 (slim actors
// have no current element), 11 (no cost on the request's path), 13 (no own message type is ever
// serialized: messages.hpp), 14 (compile time; tests/layers keeps CAF's headers in their place).
#include <caf/logger.hpp>

#include <sys/resource.h>

#include <thread>

#include "actor_support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

// Trap 1: with a logger on the thread each message would take a process-wide lock.
TEST_CASE("spawning on a shard leaves no CAF logger on its thread") {
  actor_bench b;
  caf::logger* on_thread = nullptr;
  probe::record r;
  r.on_number = [&](probe&, caf::mailbox_element&) { on_thread = caf::logger::current_logger(); };
  std::thread shard([&] {
    const auto a = spawn_on<probe>(b.unit, r);
    compat::post(a, 1);
    b.settle();
    compat::post_exit(a, caf::exit_reason::user_shutdown);
    b.settle();
    CHECK(caf::logger::current_logger() == nullptr);
  });
  shard.join();
  CHECK(r.numbers.size() == 1);
  CHECK(on_thread == nullptr);
}

TEST_CASE("making an actor system leaves no CAF logger on the thread that makes it") {
  const actor_runtime actors(1);
  CHECK(caf::logger::current_logger() == nullptr);
}

// Trap 2: with that logger, this would wait for the thread for ever.
TEST_CASE("an actor system is destroyed while threads that spawned actors on it live on") {
  auto actors = std::make_unique<actor_runtime>(1);
  std::promise<void> spawned, gone;
  std::thread shard([&] {
    {
      runtime::virtual_clock time;
      runtime::shard loop{0, time};
      shard_unit unit{actors->native_system(), loop};
      probe::record r;
      const auto a = spawn_on<probe>(unit, r);
      compat::post_exit(a, caf::exit_reason::user_shutdown);
      for (int i = 0; i < 4; ++i) loop.turn(false);
    }
    spawned.set_value();
    gone.get_future().wait();
  });
  spawned.get_future().wait();
  auto destroyed = std::async(std::launch::async, [&] { actors.reset(); });
  const bool in_time = destroyed.wait_for(patience) == std::future_status::ready;
  gone.set_value();
  shard.join();
  CHECK(in_time);
}

// Trap 9: an actor that is not hidden would keep the system's destructor waiting.
TEST_CASE("an actor system is destroyed although an actor of a shard is still alive") {
  runtime::virtual_clock time;
  auto actors = std::make_unique<actor_runtime>(1);
  runtime::shard loop{0, time};
  shard_unit unit{actors->native_system(), loop};
  probe::record r;
  auto a = spawn_on<probe>(unit, r);
  CHECK(actors->native_system().registry().running() == 0);
  a = nullptr;
}

// Trap 3: CAF's own cleanup pokes the clock's thread at each end, and blocks when its ring of 63 is
// full. Far more ends than that at once would show it; slim_actor::cleanup() is ours.
TEST_CASE("a thousand actors that end in one turn do not wait for CAF's clock") {
  actor_bench b;
  std::vector<probe::record> records(1'000);
  std::vector<caf::actor> all;
  for (auto& r : records) all.push_back(spawn_on<probe>(b.unit, r));
  for (const auto& a : all) compat::post_exit(a, caf::exit_reason::user_shutdown);
  b.loop.turn(false);
  std::size_t ended = 0;
  for (const auto& r : records) ended += r.ends.size();
  CHECK(ended == 1'000);
}

// Trap 4: the default, work stealing, polls.
TEST_CASE("the scheduler shares work and has as many threads as it was told") {
  actor_runtime actors(3);
  CHECK(actors.scheduler_threads() == 3);
  CHECK(actors.native_system().scheduler().num_workers() == 3);
}

TEST_CASE("an actor system without work does not use the processor") {
  actor_runtime actors(2);
  const auto used = [] {
    rusage u{};
    ::getrusage(RUSAGE_SELF, &u);
    return std::chrono::microseconds((u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1'000'000L +
                                     u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  };
  std::promise<void> never;
  const auto before = used();
  // Not synchronisation: idle time is what is measured.
  never.get_future().wait_for(std::chrono::milliseconds(500));
  CHECK(used() - before < std::chrono::milliseconds(50));
}

// Trap 15: a thread that does not run the shard must not take itself for it.
TEST_CASE("a shard is current only within its turn, so messages from outside take the inbox") {
  actor_bench b;
  CHECK(runtime::shard::current() == nullptr);
  probe::record r;
  runtime::shard* within = nullptr;
  r.on_number = [&](probe&, caf::mailbox_element&) { within = runtime::shard::current(); };
  const auto a = spawn_on<probe>(b.unit, r);
  compat::post(a, 1);
  b.settle();
  CHECK(within == &b.loop);
  CHECK(runtime::shard::current() == nullptr);
}

// A stop that must end although a handler does not.
TEST_CASE("an abandoned actor system is left behind without waiting") {
  auto release = std::make_shared<std::promise<void>>();
  auto stuck = release->get_future().share();
  auto started = std::make_shared<std::promise<void>>();
  {
    actor_runtime actors(1);
    actors.native_system().spawn([stuck, started](caf::event_based_actor* self) {
      started->set_value();
      stuck.wait();
      self->quit();
    });
    compat::forget_logger();
    started->get_future().wait();
    actors.abandon();
  }
  release->set_value();
  CHECK(true);  // here, and not waiting in the destructor
}

}  // namespace
}  // namespace bulkhead::actors
