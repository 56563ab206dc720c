// What the tests of actors share: a CAF system, a shard that the test turns by hand, and an actor
// that records what it hears.
#pragma once

#include <bulkhead/actors/actor_runtime.hpp>
#include <bulkhead/actors/bounded_actor.hpp>
#include <bulkhead/actors/slim_actor.hpp>
#include <bulkhead/runtime/shard.hpp>

#include <caf/deep_to_string.hpp>
#include <caf/event_based_actor.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace bulkhead::actors::testing {

// Longer than any test needs; only a failure waits for it.
constexpr std::chrono::seconds patience{20};

// The system first, the loop next, actors last: destroyed in reverse, as in a server.
struct actor_bench {
  runtime::virtual_clock time;
  actor_runtime actors{2};
  runtime::shard loop{0, time};
  shard_unit unit{actors.native_system(), loop};

  void settle() {
    for (int i = 0; i < 8; ++i) loop.turn(false);
  }
  // Turns until `done`, or until patience is out.
  bool until(const std::function<bool()>& done) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < give_up) {
      loop.turn(false);
      std::this_thread::yield();
    }
    return done();
  }
  // Stock actors are spawned on the calling thread, which must not keep CAF's logger: the system's
  // destructor would wait for this thread for ever (caf.md 4.2).
  template <class F>
  caf::actor spawn_stock(F&& f) {
    auto made = actors.native_system().spawn(std::forward<F>(f));
    compat::forget_logger();
    return made;
  }
};

// Hears integers and strings; "throw TEXT" is thrown.
class probe final : public slim_actor {
 public:
  struct record {
    std::vector<int> numbers;
    std::vector<std::string> texts;
    std::vector<std::string> downs;  // reasons
    std::vector<std::string> exits;  // reasons
    std::vector<std::string> ends;   // on_terminate
    std::function<void(probe&, caf::mailbox_element&)> on_number;
    bool ignore_exits = false;
  };

  probe(caf::actor_config& config, record& into) : slim_actor(config), heard_(into) {}

 private:
  void on_message(caf::mailbox_element& x) override {
    if (compat::holds<int>(x)) {
      heard_.numbers.push_back(compat::get<int>(x));
      if (heard_.on_number) heard_.on_number(*this, x);
    } else if (compat::holds<std::string>(x)) {
      const std::string& text = compat::get<std::string>(x);
      heard_.texts.push_back(text);
      if (text.starts_with("throw ")) throw std::runtime_error(text.substr(6));
      if (text == "throw an int") throw 42;
    }
  }
  void on_down_message(caf::down_msg& x) override {
    heard_.downs.push_back(caf::deep_to_string(x.reason));
  }
  void on_exit_message(caf::exit_msg& x) override {
    heard_.exits.push_back(caf::deep_to_string(x.reason));
    if (!heard_.ignore_exits) slim_actor::on_exit_message(x);
  }
  void on_terminate(const caf::error& why) noexcept override {
    heard_.ends.push_back(caf::deep_to_string(why));
  }

  record& heard_;
};

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace bulkhead::actors::testing
