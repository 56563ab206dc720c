// One route's supervisor: what a fault does to the route, and what the ledger says of it.
#include <bulkhead/supervision/route_supervisor.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::exception_ptr boom(const std::string& text = "boom") {
  return std::make_exception_ptr(std::runtime_error(text));
}

child_spec with(std::uint32_t restarts, milliseconds initial = seconds(1)) {
  child_spec s;
  s.id = "GET /x";
  s.intensity.restarts = restarts;
  s.backoff = {initial, 2.0, seconds(8), 0.0};
  return s;
}

struct bench {
  explicit bench(const child_spec& spec) : supervisor(spec, time, faults) {}
  runtime::virtual_clock time;
  ledger faults;
  route_supervisor supervisor;
};

TEST_CASE("within the intensity a route stays in service") {
  bench b(with(3));
  for (int i = 0; i < 3; ++i) CHECK(b.supervisor.fault(boom(), {}));
  CHECK_FALSE(b.supervisor.backing_off());
  CHECK(b.supervisor.faults() == 3);
}

TEST_CASE("beyond the intensity a route backs off until its wait is over") {
  bench b(with(0));
  CHECK_FALSE(b.supervisor.fault(boom(), {}));
  CHECK(b.supervisor.backing_off() == milliseconds(1'000));
  b.time.advance(milliseconds(600));
  CHECK(b.supervisor.backing_off() == milliseconds(400));
  b.time.advance(milliseconds(400));
  CHECK_FALSE(b.supervisor.backing_off());
}

TEST_CASE("the ledger says which child, what, where and what was done") {
  bench b(with(1, milliseconds(1'200)));
  b.supervisor.fault(boom("first"), {.route = "GET /x", .request = 4711, .shard = 3});
  b.supervisor.fault(boom("second"), {});
  const auto all = b.faults.recent();
  REQUIRE(all.size() == 2);
  CHECK(all[0].child == "GET /x");
  CHECK(all[0].kind == "std::runtime_error");
  CHECK(all[0].what == "first");
  CHECK(all[0].route == "GET /x");
  CHECK(all[0].request == 4711);
  CHECK(all[0].shard == 3);
  CHECK(all[0].action == "restarted");
  CHECK(all[0].when == b.time.wall());
  CHECK(all[1].action == "backing off for 1200 ms");
}

TEST_CASE(
    "a fault of a request costs that request, and the ledger learns how long the restart took") {
  bench b(with(3));
  b.supervisor.fault(boom(), {.route = "GET /x", .request = 1});
  b.supervisor.fault(boom(), {.route = "GET /x", .request = 2});
  const handler_factory slow = [&b]() -> std::shared_ptr<handler> {
    b.time.advance(milliseconds(5));
    return nullptr;
  };
  static_cast<void>(b.supervisor.make_instance(slow, /*is_restart=*/true, 0));
  const auto all = b.faults.recent();
  REQUIRE(all.size() == 2);
  CHECK(all[0].requests_failed == 1);
  CHECK(all[1].requests_failed == 1);
  CHECK(all[0].restart_time == milliseconds(0));
  CHECK(all[1].restart_time == milliseconds(5));
}

TEST_CASE("what was not measurable is no restart of no time") {
  bench b(with(3));
  b.supervisor.fault(boom(), {});
  const handler_factory quick = []() -> std::shared_ptr<handler> { return nullptr; };
  static_cast<void>(b.supervisor.make_instance(quick, /*is_restart=*/true, 0));
  CHECK(b.faults.recent().at(0).restart_time == std::chrono::microseconds(1));
}

TEST_CASE("a first start is no restart of anything") {
  bench b(with(3));
  b.supervisor.fault(boom(), {});
  const handler_factory quick = []() -> std::shared_ptr<handler> { return nullptr; };
  static_cast<void>(b.supervisor.make_instance(quick, /*is_restart=*/false, 0));
  CHECK(b.faults.recent().at(0).restart_time == std::chrono::microseconds(0));
}

TEST_CASE("a factory that throws fails no request with a 500, and the restart's time comes later") {
  bench b(with(5));
  b.supervisor.fault(boom(), {});
  const handler_factory broken = []() -> std::shared_ptr<handler> {
    throw std::runtime_error("no database");
  };
  CHECK(b.supervisor.make_instance(broken, /*is_restart=*/true, 0) == nullptr);
  const handler_factory slow = [&b]() -> std::shared_ptr<handler> {
    b.time.advance(milliseconds(5));
    return nullptr;
  };
  static_cast<void>(b.supervisor.make_instance(slow, /*is_restart=*/true, 0));
  const auto all = b.faults.recent();
  REQUIRE(all.size() == 2);
  CHECK(all[1].what == "in its factory: no database");
  CHECK(all[1].requests_failed == 0);
  CHECK(all[0].restart_time == milliseconds(5));
  CHECK(all[1].restart_time == milliseconds(0));
}

TEST_CASE("a fault that is no exception is recorded in its own words") {
  bench b(with(1));
  CHECK(b.supervisor.fault(exception_text{"worker died", "signal 11"},
                           {.route = "GET /x", .request = 7, .shard = 2}));
  CHECK_FALSE(b.supervisor.fault(exception_text{"worker died", "signal 6"}, {}));
  const auto all = b.faults.recent();
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind == "worker died");
  CHECK(all[0].what == "signal 11");
  CHECK(all[0].request == 7);
  CHECK(all[0].action == "restarted");
  CHECK(all[1].action == "backing off for 1000 ms");
}

// -- quarantine -----------------------------------------------------------------------------------

using kind = admission::kind;

// A route that has just been quarantined, and its wait is over.
struct half_open : bench {
  half_open() : bench(with(0)) {
    supervisor.fault(boom(), {.request = 1});
    time.advance(seconds(1));
  }
  kind enter(std::uint64_t request) { return supervisor.enter(request).how; }
  std::string_view state() { return to_string(supervisor.state()); }
};

// Regression: each of them made the wait a step longer.
TEST_CASE("faults that several shards report at once make the route wait one step, not several") {
  bench b(with(0));
  for (std::uint64_t request = 1; request <= 5; ++request) {
    CHECK_FALSE(b.supervisor.fault(boom(), {.request = request}));
  }
  CHECK(b.supervisor.backing_off() == seconds(1));
  CHECK(b.supervisor.faults() == 5);
  CHECK(b.faults.recent().at(4).action == "none: the route is quarantined already");
}

TEST_CASE("a probe that fails makes the next wait longer, a probe at a time") {
  half_open b;
  CHECK(b.enter(2) == kind::probe);
  CHECK(b.enter(3) == kind::refuse);
  CHECK_FALSE(b.supervisor.fault(boom(), {.request = 2}));
  CHECK(b.supervisor.backing_off() == seconds(2));
  b.time.advance(std::chrono::hours(1));  // nobody asks for a long time
  CHECK(b.enter(4) == kind::probe);
  CHECK_FALSE(b.supervisor.fault(boom(), {.request = 4}));
  CHECK(b.supervisor.backing_off() == seconds(4));
}

TEST_CASE("a probe that succeeds puts the route in service; a fault soon after waits longer") {
  half_open b;
  CHECK(b.enter(2) == kind::probe);
  b.supervisor.succeeded(2);
  CHECK(b.state() == "in_service");
  CHECK(b.enter(3) == kind::serve);
  CHECK_FALSE(b.supervisor.fault(boom(), {.request = 3}));
  CHECK(b.supervisor.backing_off() == seconds(2));
}

TEST_CASE("a request from before the quarantine decides nothing, whether it succeeds or fails") {
  half_open b;
  b.supervisor.succeeded(1);
  CHECK(b.state() == "backing_off");
  CHECK(b.enter(2) == kind::probe);
  b.supervisor.succeeded(1);
  CHECK_FALSE(b.supervisor.fault(boom(), {.request = 1}));
  CHECK(b.state() == "probing");
  b.supervisor.succeeded(2);
  CHECK(b.state() == "in_service");
}

TEST_CASE("a fault without a request counts against the probe that is out, and else not again") {
  half_open b;
  CHECK_FALSE(b.supervisor.fault(boom(), {}));
  CHECK_FALSE(b.supervisor.backing_off());
  CHECK(b.enter(2) == kind::probe);
  CHECK_FALSE(b.supervisor.fault(boom(), {}));
  CHECK(b.supervisor.backing_off() == seconds(2));
}

TEST_CASE("a factory that fails for a probe fails the probe") {
  half_open b;
  CHECK_FALSE(b.supervisor.may_start());
  CHECK(b.enter(2) == kind::probe);
  CHECK(b.supervisor.may_start());
  const handler_factory bad = []() -> std::shared_ptr<handler> { throw std::bad_alloc(); };
  CHECK(b.supervisor.make_instance(bad, true, 0) == nullptr);
  CHECK(b.supervisor.backing_off() == seconds(2));
  CHECK_FALSE(b.supervisor.may_start());
}

TEST_CASE("a probe that no handler has seen is given back, and the next request is one") {
  half_open b;
  CHECK(b.enter(2) == kind::probe);
  b.supervisor.give_back(2);
  CHECK(b.enter(3) == kind::probe);
}

TEST_CASE("a transient route is quarantined like a permanent one, a temporary one is stopped") {
  for (const auto& [type, state] : {std::pair{restart_type::permanent, "backing_off"},
                                    {restart_type::transient, "backing_off"},
                                    {restart_type::temporary, "stopped"}}) {
    child_spec spec = with(0);
    spec.restart = type;
    bench b(spec);
    CHECK_FALSE(b.supervisor.fault(boom(), {}));
    CHECK(to_string(b.supervisor.state()) == std::string(state));
    CHECK(b.supervisor.enter(2).how == kind::refuse);
  }
}

TEST_CASE("a stopped route stays so, whatever its other instances do") {
  child_spec spec = with(0);
  spec.restart = restart_type::temporary;
  bench b(spec);
  b.supervisor.fault(boom(), {.request = 1});
  b.supervisor.fault(boom(), {.request = 2});
  b.supervisor.succeeded(3);
  b.supervisor.give_back(4);
  CHECK(b.supervisor.enter(5).wait == route_supervisor::for_good);
  CHECK(b.supervisor.backing_off() == route_supervisor::for_good);
}

TEST_CASE("of threads that ask at the same moment exactly one gets the probe, round after round") {
  constexpr int rounds = 3'000;
  half_open b;
  std::atomic<std::uint64_t> probe{0};
  std::atomic<int> probes{0}, wrong_rounds{0}, awake{0};
  // Between two rounds nobody else is at work: the probe fails, and the next wait is over.
  std::barrier round(2, [&]() noexcept {
    awake = 0;
    if (probes.exchange(0) != 1) ++wrong_rounds;
    b.supervisor.fault(exception_text{"test", "again"}, {.request = probe});
    b.time.advance(seconds(8));
  });
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t n = 1; n <= rounds; ++n) {
        // A barrier wakes its threads one by one: they meet once more, close to what they race for.
        for (++awake; awake != 2;) std::this_thread::yield();
        if (b.enter(n * 10 + t) == kind::probe) {
          ++probes;
          probe = n * 10 + t;
        }
        round.arrive_and_wait();
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(wrong_rounds == 0);
}

TEST_CASE("any exception can be described") {
  CHECK(describe(boom("text")).type == "std::runtime_error");
  CHECK(describe(boom("text")).what == "text");
  CHECK(describe(std::make_exception_ptr(std::bad_alloc())).type == "std::bad_alloc");
  CHECK(describe(std::make_exception_ptr(42)).type == "int");
  CHECK(describe(std::make_exception_ptr(42)).what == "not a std::exception");
}

}  // namespace
}  // namespace bulkhead::supervision
