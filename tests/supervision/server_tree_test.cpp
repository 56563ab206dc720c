// A route's node in the tree: how it is supervised and how it fares.
#include <bulkhead/supervision/server_tree.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;

struct bench {
  runtime::virtual_clock time;
  ledger faults;
  std::unique_ptr<route_set> set;

  explicit bench(const child_spec& spec) {
    auto made = route_set::make(
        router().get(
            "/x", [](const http::request&) { return http::response::empty(204); }, spec),
        time, faults, nullptr);
    REQUIRE(made);
    set = std::move(*made);
  }
  [[nodiscard]] const supervised_route& route() const { return set->routes()[0]; }
  void fault() const {
    route().supervisor->fault(std::make_exception_ptr(std::runtime_error("boom")), {});
  }
  [[nodiscard]] std::string text(bool supervised = true) const {
    return tree_text(route_node(route(), supervised));
  }
};

child_spec spec() {
  child_spec s;
  s.intensity = {.restarts = 1, .period = milliseconds(700)};
  s.backoff = {
      .initial = milliseconds(300), .factor = 2.0, .cap = milliseconds(900), .jitter = 0.0};
  return s;
}

TEST_CASE("a route in service shows its placement, its supervision and its counts") {
  const bench b(spec());
  b.fault();
  CHECK(b.text() ==
        "route GET /x [in_service] placement=inline strategy=one_for_one restart=permanent "
        "intensity_restarts=1 intensity_period_ms=700 faults=1 restarts=0\n");
}

TEST_CASE("a route that backs off shows for how long") {
  bench b(spec());
  b.fault();
  b.fault();
  b.time.advance(milliseconds(100));
  const std::string text = b.text();
  CHECK(text.find("[backing_off]") != std::string::npos);
  CHECK(text.find(" faults=2 restarts=0 retry_after_ms=200\n") != std::string::npos);
  CHECK(to_string(b.route().supervisor->state()) == "backing_off");
  b.time.advance(milliseconds(200));
  CHECK(b.text().find("retry_after_ms") == std::string::npos);  // the next request is a probe
}

TEST_CASE("a route whose child is temporary is stopped by its first fault, without a time") {
  child_spec s = spec();
  s.restart = restart_type::temporary;
  const bench b(s);
  b.fault();
  CHECK(b.text().find("[stopped]") != std::string::npos);
  CHECK(b.text().find("restart=temporary") != std::string::npos);
  CHECK(b.text().find("retry_after") == std::string::npos);
}

TEST_CASE("a route shows the placement that was asked for and the name that was given") {
  child_spec s = spec();
  s.id = "mine";
  s.placement = placement::actor;
  s.restart = restart_type::transient;
  const bench b(s);
  CHECK(b.text().find("route mine [in_service] placement=actor strategy=one_for_one "
                      "restart=transient ") == 0);
  CHECK(b.text(false).find("route mine [in_service] placement=actor strategy=none "
                           "restart=none ") == 0);
}

}  // namespace
}  // namespace bulkhead::supervision
