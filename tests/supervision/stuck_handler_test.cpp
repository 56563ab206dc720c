// A handler on the scheduler that does not return while its server is destroyed: what it still uses
// must stay, although nobody owns it any more.
#include <bulkhead/supervision/server.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <tests/actors/loopback.hpp>
#include <thread>
#include <vector>

namespace bulkhead::supervision {
namespace {

// What a server leaves behind on purpose is found here by LeakSanitizer.
std::vector<void*>& left_behind() {
  static auto* const all = new std::vector<void*>;  // outlives every destructor
  return *all;
}

struct stuck {
  std::promise<void>* entered;
  std::shared_future<void> release;
  std::shared_ptr<int> alive;
  http::response operator()(const http::request&) const {
    entered->set_value();
    release.wait();
    throw std::runtime_error("late");  // the supervisor and the ledger hear of it
  }
};

// Regression: the server's memory went while the handler was still to come back to it.
TEST_CASE("a server may be destroyed while a handler is stuck, and the handler may return later") {
  std::promise<void> entered, release;
  const auto released = release.get_future().share();
  std::weak_ptr<int> instance;
  child_spec spec;
  spec.placement = placement::actor;
  spec.instances = 1;
  server_options o;
  o.plain_listen = {"127.0.0.1:0"};
  o.handle_signals = false;
  o.threads = o.handler_threads = 1;
  auto s = std::make_unique<server>(o, router().get("/", factory{[&] {
                                                      auto alive = std::make_shared<int>(1);
                                                      instance = alive;
                                                      return stuck{&entered, released, alive};
                                                    }},
                                                    spec));
  void* state = nullptr;
  static_assert(sizeof(server) == sizeof state);
  std::memcpy(&state, static_cast<const void*>(s.get()), sizeof state);
  left_behind().push_back(state);
  REQUIRE(s->start());
  tests::loopback c(s->addresses().front());
  c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  entered.get_future().wait();
  s.reset();
  release.set_value();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!instance.expired() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  CHECK(instance.expired());  // it came back, and its actor ended
}

}  // namespace
}  // namespace bulkhead::supervision
