// What the tests of handler pools share: routes with placement actor behind a connection actor.
#pragma once

#include <bulkhead/supervision/route_set.hpp>
#include <bulkhead/supervision/supervised_dispatcher.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tests/actors/connection_support.hpp>
#include <tests/runtime/gate.hpp>

namespace bulkhead::supervision::testing {

using namespace actors::testing;

using tests::gate;

inline child_spec pooled(std::uint32_t instances, std::uint32_t queue = 100,
                         std::uint32_t restarts = 10) {
  child_spec s;
  s.placement = placement::actor;
  s.instances = instances;
  s.queue = queue;
  s.intensity.restarts = restarts;
  s.backoff.jitter = 0.0;
  return s;
}

// Moved by the test while the scheduler's threads read it.
class shared_clock final : public runtime::clock {
 public:
  runtime::steady_time now() const noexcept override {
    return runtime::steady_time(std::chrono::hours(1) + milliseconds(moved_.load()));
  }
  runtime::wall_time wall() const noexcept override {
    return runtime::wall_time(milliseconds(moved_.load()));
  }
  void advance(milliseconds by) noexcept { moved_ += by.count(); }

 private:
  std::atomic<std::int64_t> moved_{0};
};

struct pool_bench : connection_bench {
  shared_clock restarts;
  router routes;
  ledger faults;
  abandonment late;
  std::unique_ptr<route_set> set;
  std::unique_ptr<supervised_dispatcher> dispatcher;

  // As a server does it: the loop goes after the last instance that may still wake it, which it
  // does after its answer is seen.
  ~pool_bench() {
    if (set) CHECK(set->stop(std::chrono::seconds(20)));
  }
  void start() {
    auto made = route_set::make(routes, restarts, faults, &actors, late);
    REQUIRE(made);
    set = std::move(*made);
    dispatcher = std::make_unique<supervised_dispatcher>(*set, 0);
    handlers.serve = [this](actors::exchange& x) { dispatcher->dispatch(x); };
    open();
  }
  [[nodiscard]] const route_supervisor& supervisor() const { return *set->routes()[0].supervisor; }
  // Delivers and waits for so many answers to everything so far; their statuses.
  std::string ask(const std::string& requests, std::size_t expected) {
    static_cast<void>(wire.take_sent());
    deliver(requests);
    return wait(expected);
  }
  std::string wait(std::size_t expected) {
    until([&] { return answers(wire.sent()).size() >= expected; });
    return statuses(wire.sent());
  }
};

struct counting {
  int n = 0;
  http::response operator()(const http::request& r) {
    ++n;
    if (r.query() == "throw") throw std::runtime_error("secret text");
    return http::response::text(std::to_string(n));
  }
};

}  // namespace bulkhead::supervision::testing
