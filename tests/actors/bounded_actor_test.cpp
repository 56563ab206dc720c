// The hard bound of a mailbox, against senders that hold no credit (caf.md section 7).
#include <atomic>
#include <thread>

#include "actor_support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

constexpr std::uint32_t window = 64;

// Integers are data, strings are control.
class bounded_probe final : public bounded_actor {
 public:
  struct record {
    int data = 0, control = 0, ends = 0;
    std::uint32_t most_queued = 0;
  };
  bounded_probe(caf::actor_config& config, shard_counters& counters, record& r)
      : bounded_actor(config, window, counters), heard_(r) {}

 private:
  bool is_data(caf::mailbox_element& x) const override { return compat::holds<int>(x); }
  void on_data(caf::mailbox_element&) override {
    ++heard_.data;
    heard_.most_queued = std::max(heard_.most_queued, queued());
  }
  void on_control(caf::mailbox_element&) override { ++heard_.control; }
  void on_terminate(const caf::error&) noexcept override { ++heard_.ends; }
  record& heard_;
};

struct bounded_bench : actor_bench {
  shard_counters counters;
  bounded_probe::record heard;
  caf::actor a = spawn_on<bounded_probe>(unit, counters, heard);

  ~bounded_bench() { settle(); }  // what is queued holds its actor
  [[nodiscard]] bounded_probe& actor() const { return *caf::actor_cast<bounded_probe*>(a); }
  void flood(int threads, int messages) const {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([to = a, messages] {
        for (int i = 0; i < messages; ++i) compat::post(to, i);
      });
    }
    for (auto& t : all) t.join();
  }
  [[nodiscard]] bool balanced() const {
    return counters.messages_sent.get() ==
           actor().queued() + counters.messages_handled.get() + counters.messages_refused.get();
  }
};

TEST_CASE("three senders without credit never queue more than the window") {
  bounded_bench b;
  b.flood(3, 1'000);
  CHECK(b.actor().queued() == window);
  CHECK(b.counters.messages_sent.get() == 3'000);
  CHECK(b.counters.messages_refused.get() == 3'000 - window);
  CHECK(b.balanced());
  b.settle();
  CHECK(b.heard.data == window);
  CHECK(b.actor().queued() == 0);
  CHECK(b.balanced());
}

TEST_CASE("what was handled makes room again") {
  bounded_bench b;
  for (int round = 1; round <= 5; ++round) {
    b.flood(1, 100);
    b.settle();
    CHECK(b.heard.data == round * static_cast<int>(window));
  }
}

TEST_CASE("the numbers balance while senders and the shard race") {
  bounded_bench b;
  std::atomic<int> running{3};
  std::vector<std::thread> senders;
  for (int t = 0; t < 3; ++t) {
    senders.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) compat::post(b.a, i);
      --running;
    });
  }
  CHECK(b.until([&] { return running == 0; }));
  for (auto& t : senders) t.join();
  b.settle();
  CHECK(b.actor().queued() == 0);
  CHECK(b.balanced());
  // A sender that is about to be refused counts for a moment.
  CHECK(b.heard.most_queued <= window + 3);
}

TEST_CASE("at the bound an exit message is still handled") {
  bounded_bench b;
  b.flood(3, 1'000);
  compat::post_exit(b.a, caf::exit_reason::user_shutdown);
  b.settle();
  CHECK(b.heard.ends == 1);
}

TEST_CASE("at the bound a kill is still handled") {
  bounded_bench b;
  b.flood(3, 1'000);
  compat::post_exit(b.a, caf::exit_reason::kill);
  b.settle();
  CHECK(b.heard.ends == 1);
}

TEST_CASE("at the bound control messages are still handled, and draw on no credit") {
  bounded_bench b;
  b.flood(1, 1'000);
  for (int i = 0; i < 10; ++i) compat::post(b.a, std::string("control"));
  b.settle();
  CHECK(b.heard.control == 10);
  CHECK(b.counters.messages_sent.get() == 1'000);
}

TEST_CASE("what is queued when the actor dies is refused and counted, not lost") {
  bounded_bench b;
  b.loop.post([&] {
    for (int i = 0; i < 10; ++i) compat::post(b.a, i);
    b.actor().terminate(caf::exit_reason::user_shutdown);
    compat::post(b.a, 11);  // to a dead actor
  });
  b.settle();
  CHECK(b.heard.data == 0);
  CHECK(b.counters.messages_refused.get() == 11);
  CHECK(b.actor().queued() == 0);
  CHECK(b.balanced());
}

TEST_CASE("a request over the bound is answered with an error that says why") {
  bounded_bench b;
  b.flood(1, static_cast<int>(window));
  auto said = std::make_shared<std::promise<std::string>>();
  auto answer = said->get_future();
  b.spawn_stock([said, to = b.a](caf::event_based_actor* self) {
    self->request(to, caf::infinite, 5)
        .then([said](int) { said->set_value("answered"); },
              [said](const caf::error& e) { said->set_value(caf::deep_to_string(e)); });
  });
  REQUIRE(answer.wait_for(patience) == std::future_status::ready);
  const std::string said_text = answer.get();
  CAPTURE(said_text);
  CHECK(contains(said_text, "mailbox window exceeded"));
  CHECK(b.balanced());
}

// Credit: permission to send, given back when the message is handled. Who holds it is never
// refused; the bound is for the others.
TEST_CASE("a sender that keeps to its credit is never refused") {
  bounded_bench b;
  std::uint32_t credit = window;
  int sent = 0;
  int handled = 0;
  while (sent < 1'000) {
    for (; credit != 0 && sent < 1'000; --credit, ++sent) compat::post(b.a, sent);
    b.loop.turn(false);
    credit += static_cast<std::uint32_t>(b.heard.data - handled);
    handled = b.heard.data;
  }
  b.settle();
  CHECK(b.heard.data == 1'000);
  CHECK(b.counters.messages_refused.get() == 0);
}

}  // namespace
}  // namespace bulkhead::actors
