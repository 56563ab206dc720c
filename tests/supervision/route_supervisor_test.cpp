// One route's supervisor: what a fault does to the route, and what the ledger says of it.
#include <bulkhead/supervision/route_supervisor.hpp>

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>

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

TEST_CASE("any exception can be described") {
  CHECK(describe(boom("text")).type == "std::runtime_error");
  CHECK(describe(boom("text")).what == "text");
  CHECK(describe(std::make_exception_ptr(std::bad_alloc())).type == "std::bad_alloc");
  CHECK(describe(std::make_exception_ptr(42)).type == "int");
  CHECK(describe(std::make_exception_ptr(42)).what == "not a std::exception");
}

}  // namespace
}  // namespace bulkhead::supervision
