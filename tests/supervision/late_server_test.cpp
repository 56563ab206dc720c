// A server with handlers that overran their deadline: readiness, and its end.
#include <bulkhead/supervision/server.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tests/actors/loopback.hpp>
#include <thread>
#include <vector>

#include "pool_support.hpp"

namespace bulkhead::supervision {
namespace {

using testing::gate;
using tests::ask_once;

bool wait_for(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return done();
}

// What a server leaves behind on purpose is found here by LeakSanitizer.
std::vector<void*>& left_behind() {
  static auto* const all = new std::vector<void*>;  // outlives every destructor
  return *all;
}

struct late_server {
  std::shared_ptr<gate> stuck = std::make_shared<gate>();
  server_options o;
  std::unique_ptr<server> s;

  explicit late_server(std::uint32_t threads) {
    o.plain_listen = {"127.0.0.1:0"};
    o.admin_listen = "127.0.0.1:0";
    o.handle_signals = false;
    o.threads = o.handler_threads = 1;
    o.abandoned_threads = threads;
    child_spec spec;
    spec.placement = placement::actor;
    spec.instances = 1;
    spec.deadline = std::chrono::milliseconds(10);
    s = std::make_unique<server>(o, router().get(
                                        "/",
                                        [gate = stuck](const http::request&) {
                                          gate->pass();
                                          return http::response::text("late");
                                        },
                                        spec));
    REQUIRE(s->start());
  }
  [[nodiscard]] std::string ask() const { return ask_once(s->addresses().front(), "GET /"); }
};

TEST_CASE("a server whose threads are used up is not ready until one of them comes back") {
  const late_server b(1);
  CHECK(b.s->ready());
  CHECK(b.ask().starts_with("HTTP/1.1 503 "));
  CHECK(b.s->counters().abandoned_threads == 1);
  CHECK_FALSE(b.s->ready());
  CHECK(ask_once(b.s->admin_address(), "GET /ready").starts_with("HTTP/1.1 503 "));
  b.stuck->open();
  CHECK(wait_for([&] { return b.s->ready(); }));
  CHECK(b.s->counters().abandoned_threads == 0);
}

TEST_CASE("a stop with a thread that never comes back ends in bounded time with status 1") {
  late_server b(8);
  void* state = nullptr;
  std::memcpy(&state, static_cast<const void*>(b.s.get()), sizeof state);
  left_behind().push_back(state);
  CHECK(b.ask().starts_with("HTTP/1.1 503 "));
  b.s->stop();
  CHECK(b.s->run() == 1);
  CHECK(b.s->counters().in_flight == 0);
  b.s.reset();
  b.stuck->open();
}

}  // namespace
}  // namespace bulkhead::supervision
