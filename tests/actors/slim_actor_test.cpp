// The slim actor keeps CAF's promises: exit reasons, monitors, links, requests, order, fairness.
// The numbers are those of caf.md section 4.
#include <algorithm>
#include <thread>

#include "actor_support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

// -- exceptions (trap 6: CAF's own handler loses the text)
// ---------------------------------------------

TEST_CASE("an exception becomes the exit reason and keeps its text") {
  actor_bench b;
  probe::record watched, watcher;
  const auto a = spawn_on<probe>(b.unit, watched);
  const auto w = spawn_on<probe>(b.unit, watcher);
  monitor(a, w);
  compat::post(a, std::string("throw boom 42"));
  b.settle();
  REQUIRE(watcher.downs.size() == 1);
  CHECK(contains(watcher.downs[0], "boom 42"));
}

TEST_CASE("what is no std::exception is an exit reason too") {
  actor_bench b;
  probe::record watched, watcher;
  watched.on_number = [](probe&, caf::mailbox_element&) { throw 42; };
  const auto a = spawn_on<probe>(b.unit, watched);
  const auto w = spawn_on<probe>(b.unit, watcher);
  monitor(a, w);
  compat::post(a, 1);
  b.settle();
  REQUIRE(watcher.downs.size() == 1);
  CHECK(contains(watcher.downs[0], "not a std::exception"));
}

TEST_CASE("after an exception nothing more is handled") {
  actor_bench b;
  probe::record r;
  const auto a = spawn_on<probe>(b.unit, r);
  compat::post(a, 1);
  compat::post(a, std::string("throw boom"));
  compat::post(a, 2);
  b.settle();
  compat::post(a, 3);
  b.settle();
  CHECK(r.numbers == std::vector<int>{1});
  CHECK(r.ends.size() == 1);
}

// -- monitors and links
// ----------------------------------------------------------------------------------

TEST_CASE("a monitor hears of the end exactly once, with the reason") {
  actor_bench b;
  probe::record watched, watcher;
  const auto a = spawn_on<probe>(b.unit, watched);
  const auto w = spawn_on<probe>(b.unit, watcher);
  monitor(a, w);
  compat::post_exit(a, caf::exit_reason::user_shutdown);
  compat::post_exit(a, caf::exit_reason::remote_link_unreachable);
  compat::post(a, std::string("throw too late"));
  b.settle();
  REQUIRE(watcher.downs.size() == 1);
  CHECK(contains(watcher.downs[0], "user_shutdown"));
}

TEST_CASE("who monitors a dead actor hears at once") {
  actor_bench b;
  probe::record watched, watcher;
  const auto a = spawn_on<probe>(b.unit, watched);
  const auto w = spawn_on<probe>(b.unit, watcher);
  compat::post(a, std::string("throw boom"));
  b.settle();
  monitor(a, w);
  b.settle();
  REQUIRE(watcher.downs.size() == 1);
  CHECK(contains(watcher.downs[0], "boom"));
}

TEST_CASE("a linked actor ends with the same reason") {
  actor_bench b;
  probe::record one, two;
  const auto a = spawn_on<probe>(b.unit, one);
  const auto c = spawn_on<probe>(b.unit, two);
  caf::actor_cast<probe*>(a)->link_to(c);
  compat::post(a, std::string("throw boom"));
  b.settle();
  REQUIRE(two.ends.size() == 1);
  CHECK(contains(two.ends[0], "boom"));
}

TEST_CASE("a linked actor may refuse to end with an ordinary reason") {
  actor_bench b;
  probe::record one, two;
  two.ignore_exits = true;
  const auto a = spawn_on<probe>(b.unit, one);
  const auto c = spawn_on<probe>(b.unit, two);
  caf::actor_cast<probe*>(a)->link_to(c);
  compat::post(a, std::string("throw boom"));
  b.settle();
  CHECK(two.exits.size() == 1);
  CHECK(caf::actor_cast<probe*>(c)->alive());
}

// Trap 7: which is why the supervisor watches with monitors; see connection_actor_test.cpp.
TEST_CASE("a kill cannot be refused, not even through a link") {
  actor_bench b;
  probe::record one, two;
  two.ignore_exits = true;
  const auto a = spawn_on<probe>(b.unit, one);
  const auto c = spawn_on<probe>(b.unit, two);
  caf::actor_cast<probe*>(a)->link_to(c);
  compat::post_exit(a, caf::exit_reason::kill);
  b.settle();
  CHECK(two.exits.empty());
  CHECK_FALSE(caf::actor_cast<probe*>(c)->alive());
}

TEST_CASE("an exit message without a reason ends nobody") {
  actor_bench b;
  probe::record r;
  const auto a = spawn_on<probe>(b.unit, r);
  compat::post_exit(a, caf::error{});
  b.settle();
  CHECK(caf::actor_cast<probe*>(a)->alive());
}

// -- order, threads, fairness
// ------------------------------------------------------------------------------

TEST_CASE("messages of other threads are handled on the shard's thread, each sender's in order") {
  actor_bench b;
  probe::record r;
  std::vector<std::thread::id> where;
  r.on_number = [&](probe&, caf::mailbox_element&) { where.push_back(std::this_thread::get_id()); };
  const auto a = spawn_on<probe>(b.unit, r);
  std::vector<std::thread> senders;
  for (int s = 0; s < 3; ++s) {
    senders.emplace_back([a, s] {
      for (int i = 0; i < 500; ++i) compat::post(a, s * 1'000 + i);
    });
  }
  CHECK(b.until([&] { return r.numbers.size() == 1'500; }));
  for (auto& t : senders) t.join();
  CHECK(std::count(where.begin(), where.end(), std::this_thread::get_id()) == 1'500);
  for (int s = 0; s < 3; ++s) {
    std::vector<int> mine;
    std::copy_if(r.numbers.begin(), r.numbers.end(), std::back_inserter(mine),
                 [s](int n) { return n / 1'000 == s; });
    CHECK(mine.size() == 500);
    CHECK(std::is_sorted(mine.begin(), mine.end()));
  }
}

// Trap 5: a same-shard producer could outrun everyone without a bound on each resume.
TEST_CASE("an actor handles 64 messages, then the others have their turn") {
  actor_bench b;
  probe::record busy, other;
  std::size_t busy_when_other_ran = 0;
  other.on_number = [&](probe&, caf::mailbox_element&) {
    busy_when_other_ran = busy.numbers.size();
  };
  const auto a = spawn_on<probe>(b.unit, busy);
  const auto c = spawn_on<probe>(b.unit, other);
  for (int i = 0; i < 200; ++i) compat::post(a, i);
  compat::post(c, 1);
  b.loop.turn(false);
  CHECK(busy.numbers.size() == shard_unit::throughput);
  CHECK(busy_when_other_ran == shard_unit::throughput);
  b.settle();
  CHECK(busy.numbers.size() == 200);
}

TEST_CASE("an actor that is terminated inline while it is queued handles nothing more") {
  actor_bench b;
  probe::record r, watcher;
  const auto a = spawn_on<probe>(b.unit, r);
  const auto w = spawn_on<probe>(b.unit, watcher);
  monitor(a, w);
  compat::post(a, 1);  // queued
  b.loop.post([&] { caf::actor_cast<probe*>(a)->terminate(caf::exit_reason::user_shutdown); });
  // The post was queued after the message: the other order, too.
  b.settle();
  compat::post(a, 2);
  b.settle();
  CHECK(watcher.downs.size() == 1);
  CHECK(r.numbers.size() <= 1);

  const auto d = spawn_on<probe>(b.unit, r);
  b.loop.post([&] {
    compat::post(d, 7);  // queued, and then at once:
    caf::actor_cast<probe*>(d)->terminate(caf::exit_reason::user_shutdown);
  });
  b.settle();
  CHECK(std::count(r.numbers.begin(), r.numbers.end(), 7) == 0);
}

// -- requests
// ----------------------------------------------------------------------------------------------

// Asks `whom` from a stock actor and answers what came back: the reply, or the error's text.
std::future<std::string> ask(actor_bench& b, const caf::actor& whom, std::thread::id* where) {
  auto said = std::make_shared<std::promise<std::string>>();
  auto answer = said->get_future();
  b.spawn_stock([said, whom, where](caf::event_based_actor* self) {
    self->request(whom, caf::infinite, 5)
        .then(
            [said, where](int n) {
              if (where != nullptr) *where = std::this_thread::get_id();
              said->set_value(std::to_string(n));
            },
            [said](const caf::error& e) { said->set_value(caf::deep_to_string(e)); });
  });
  return answer;
}

std::string wait_for(actor_bench& b, std::future<std::string>& answer) {
  b.until([&] { return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  return answer.valid() && answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready
             ? answer.get()
             : "no answer";
}

TEST_CASE("a request to a dead actor is answered with an error") {
  actor_bench b;
  probe::record r;
  const auto a = spawn_on<probe>(b.unit, r);
  compat::post_exit(a, caf::exit_reason::user_shutdown);
  b.settle();
  auto answer = ask(b, a, nullptr);
  CHECK(contains(wait_for(b, answer), "request_receiver_down"));
}

TEST_CASE("a request that waits when its receiver dies is answered with an error") {
  actor_bench b;
  probe::record r;
  r.on_number = [](probe&, caf::mailbox_element&) { throw std::runtime_error("boom"); };
  const auto a = spawn_on<probe>(b.unit, r);
  compat::post(a, 1);
  auto answer = ask(b, a, nullptr);
  // Both messages may be in the mailbox by now, or the second comes to a dead actor.
  CHECK(contains(wait_for(b, answer), "request_receiver_down"));
}

// exec_later() gets the actors that a message from the shard unblocks: those that are not ours go
// to CAF's scheduler, or they would run, and block, on the shard.
TEST_CASE("a stock actor that the shard answers runs on CAF's scheduler, not on the shard") {
  actor_bench b;
  probe::record r;
  r.on_number = [&](probe&, caf::mailbox_element& x) {
    auto reply = caf::make_mailbox_element(nullptr, x.mid.response_id(), {}, 6);
    x.sender->enqueue(std::move(reply), &b.unit);
  };
  const auto a = spawn_on<probe>(b.unit, r);
  std::thread::id where{};
  auto answer = ask(b, a, &where);
  CHECK(wait_for(b, answer) == "6");
  CHECK(where != std::this_thread::get_id());
  CHECK(where != std::thread::id{});
}

// -- life
// ---------------------------------------------------------------------------------------------------

// Traps 9 and 12: hidden, lazy, on the shard's unit; gone with its last handle.
TEST_CASE("a dead actor without handles is freed") {
  actor_bench b;
  probe::record r;
  auto a = spawn_on<probe>(b.unit, r);
  const caf::actor_addr address = a.address();
  compat::post_exit(a, caf::exit_reason::user_shutdown);
  a = nullptr;
  b.settle();
  CHECK_FALSE(caf::actor_cast<caf::actor>(address));
}

TEST_CASE("an actor that nobody ever wrote to is freed with its last handle") {
  actor_bench b;
  probe::record r;
  auto a = spawn_on<probe>(b.unit, r);
  const caf::actor_addr address = a.address();
  a = nullptr;
  CHECK_FALSE(caf::actor_cast<caf::actor>(address));
}

// Trap 10: one FIFO, no priorities, so an exit message waits for what is before it.
TEST_CASE("messages before an exit message are handled first") {
  actor_bench b;
  probe::record r;
  const auto a = spawn_on<probe>(b.unit, r);
  compat::post(a, 1);
  compat::post_exit(a, caf::exit_reason::user_shutdown);
  compat::post(a, 2);
  b.settle();
  CHECK(r.numbers == std::vector<int>{1});
}

}  // namespace
}  // namespace bulkhead::actors
