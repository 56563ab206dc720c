// The watchdog of a server: a handler that holds a shard is named while it does.
#include <bulkhead/supervision/server.hpp>
#include <bulkhead/supervision/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <tests/actors/loopback.hpp>
#include <thread>

namespace bulkhead::supervision {
namespace {

using runtime::milliseconds;
using tests::ask_once;

bool until(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return done();
}

// "/stall" blocks its shard until the watchdog has said so; "/" does not.
struct stalling {
  server_options o;
  std::unique_ptr<server> s;

  explicit stalling(milliseconds threshold) {
    o.plain_listen = {"127.0.0.1:0"};
    o.handle_signals = false;
    o.threads = o.handler_threads = 1;
    o.stall_threshold = threshold;
    router r;
    r.get("/", [](const http::request&) { return http::response::text("quick"); });
    r.get("/stall/:id", [this](const http::request&) {
      const auto before = s->counters().stalls;
      return http::response::text(until([&] { return s->counters().stalls > before; }) ? "seen"
                                                                                       : "unseen");
    });
    s = std::make_unique<server>(o, std::move(r));
    REQUIRE(s->start());
  }
  [[nodiscard]] std::string ask(const std::string& target) const {
    return ask_once(s->addresses().front(), "GET " + target);
  }
};

TEST_CASE("an inline handler that holds its shard is reported while it does, with its route") {
  const stalling b(milliseconds(5));
  CHECK(b.ask("/stall/7?secret=1").ends_with("seen"));
  const auto faults = b.s->faults().recent();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == "stall");
  CHECK(faults[0].child == "shard-0");
  CHECK(faults[0].route == "GET /stall/7");
  CHECK(faults[0].request != 0);
  CHECK(faults[0].what.starts_with("held for at least "));
  CHECK(faults[0].what.find(", in ") != std::string::npos);  // the backtrace's first line
  CHECK(b.s->counters().stalls == 1);
  CHECK(b.s->counters().to_json().find("\"stalls\":1") != std::string::npos);
}

TEST_CASE("handlers that do not hold their shard are not reported") {
  const stalling b(std::chrono::seconds(5));
  for (int i = 0; i < 20; ++i) CHECK(b.ask("/").ends_with("quick"));
  CHECK(b.s->counters().stalls == 0);
}

TEST_CASE("without a threshold nobody looks") {
  server_options o;
  o.plain_listen = {"127.0.0.1:0"};
  o.handle_signals = false;
  o.threads = o.handler_threads = 1;
  o.stall_threshold = milliseconds(0);
  server s(o,
           router().get("/", [](const http::request&) { return http::response::text("quick"); }));
  REQUIRE(s.start());
  CHECK(ask_once(s.addresses().front(), "GET /").ends_with("quick"));
  CHECK(s.counters().stalls == 0);
}

TEST_CASE("a watchdog sleeps while all shards do, and the first that wakes up wakes it") {
  runtime::heartbeat heart;
  watchdog w(milliseconds(2), [](const watchdog::stall&) {});
  w.watch(0, heart);
  w.start();
  REQUIRE(until([&] { return w.asleep(); }));
  const auto looks = w.looks();
  heart.beat();
  CHECK(w.asleep());
  CHECK(w.looks() == looks);
  heart.wake_up();
  CHECK(until([&] { return w.stalls() == 1; }));
  heart.fall_asleep();
  CHECK(until([&] { return w.asleep(); }));
  w.stop();
}

TEST_CASE("a shard that stalls again and again is counted each time") {
  const stalling b(milliseconds(5));
  for (int i = 0; i < 3; ++i) CHECK(b.ask("/stall/" + std::to_string(i)).ends_with("seen"));
  CHECK(b.s->counters().stalls == 3);
  CHECK(b.s->faults().total() >= 1);
}

}  // namespace
}  // namespace bulkhead::supervision
