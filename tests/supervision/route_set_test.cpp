// What a route may say, and what is refused, by name, before anything starts.
#include <bulkhead/supervision/route_set.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;

http::response nothing(const http::request&) {
  return http::response::empty(204);
}

struct bench {
  runtime::virtual_clock time;
  ledger faults;
  result<std::unique_ptr<route_set>> make(const router& r) {
    return route_set::make(r, time, faults, nullptr);
  }
};

TEST_CASE("a child spec that makes no sense is refused with its route and what is wrong") {
  struct row {
    std::string about;
    std::function<void(child_spec&)> spoil;
  };
  const std::vector<row> rows = {
      {"restart_intensity.period", [](auto& s) { s.intensity.period = milliseconds(0); }},
      {"restart_intensity.period", [](auto& s) { s.intensity.period = milliseconds(-1); }},
      {"initial <= cap", [](auto& s) { s.backoff.initial = milliseconds(0); }},
      {"initial <= cap", [](auto& s) { s.backoff.cap = s.backoff.initial - milliseconds(1); }},
      {"restart_backoff.factor", [](auto& s) { s.backoff.factor = 0.99; }},
      {"restart_backoff.jitter", [](auto& s) { s.backoff.jitter = -0.1; }},
      {"restart_backoff.jitter", [](auto& s) { s.backoff.jitter = 1.1; }},
      {"deadline must not be negative", [](auto& s) { s.deadline = milliseconds(-1); }},
      {"deadline needs placement actor", [](auto& s) { s.deadline = milliseconds(1); }},
      {"queue must be",
       [](auto& s) {
         s.placement = placement::actor;
         s.queue = 0;
       }},
  };
  for (const row& r : rows) {
    CAPTURE(r.about);
    bench b;
    child_spec spec;
    r.spoil(spec);
    const auto made = b.make(router().get("/spoilt", nothing, spec));
    REQUIRE_FALSE(made);
    CHECK(made.why().category() == error_category::configuration);
    CHECK(made.why().message().find("GET /spoilt") != std::string::npos);
    CHECK(made.why().message().find(r.about) != std::string::npos);
  }
}

TEST_CASE("the limits of a child spec are allowed") {
  bench b;
  child_spec spec;
  spec.intensity = {0, milliseconds(1)};
  spec.backoff = {milliseconds(1), 1.0, milliseconds(1), 1.0};
  spec.queue = 0;  // inline has no queue
  CHECK(b.make(router().get("/", nothing, spec)));
}

TEST_CASE("a bad pattern and a route given twice are refused with the pattern") {
  bench b;
  for (const router& r :
       {router().get("no-slash", nothing), router().get("/dup", nothing).get("/dup", nothing)}) {
    const auto made = b.make(r);
    REQUIRE_FALSE(made);
    CHECK(made.why().message().find(r.routes().back().pattern) != std::string::npos);
  }
}

TEST_CASE("a child without a name is named after its route") {
  bench b;
  child_spec named;
  named.id = "mine";
  const auto made = b.make(router().get("/a/:id", nothing).post("/b", nothing, named));
  REQUIRE(made);
  CHECK((*made)->routes()[0].supervisor->spec().id == "GET /a/:id");
  CHECK((*made)->routes()[1].supervisor->spec().id == "mine");
}

TEST_CASE("a router takes every method that routes can have") {
  bench b;
  const auto made = b.make(router()
                               .get("/", nothing)
                               .post("/", nothing)
                               .put("/", nothing)
                               .patch("/", nothing)
                               .del("/", nothing));
  REQUIRE(made);
  CHECK((*made)->routes().size() == 5);
}

}  // namespace
}  // namespace bulkhead::supervision
