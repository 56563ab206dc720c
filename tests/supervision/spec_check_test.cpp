// What a configuration of supervision may say; what is refused, by name, before anything starts.
#include <bulkhead/supervision/spec_check.hpp>
#include <bulkhead/supervision/supervisor_tree.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;

TEST_CASE("every strategy and restart type is parsed from the name that it is shown by") {
  for (const auto s : {strategy::one_for_one, strategy::one_for_all, strategy::rest_for_one,
                       strategy::simple_one_for_one}) {
    const auto parsed = parse_strategy(to_string(s), "strategy");
    REQUIRE(parsed);
    CHECK(*parsed == s);
  }
  for (const auto r : {restart_type::permanent, restart_type::transient, restart_type::temporary}) {
    const auto parsed = parse_restart_type(to_string(r), "restart");
    REQUIRE(parsed);
    CHECK(*parsed == r);
  }
}

TEST_CASE("an unknown name is refused with its key and the names there are") {
  const auto s = parse_strategy("one_for_al", "supervisor.strategy");
  REQUIRE_FALSE(s);
  CHECK(s.why().message() ==
        "supervisor.strategy: unknown \"one_for_al\"; use one_for_one, one_for_all, rest_for_one "
        "or simple_one_for_one");
  CHECK(s.why().category() == error_category::configuration);
  const auto r = parse_restart_type("", "child.restart");
  REQUIRE_FALSE(r);
  CHECK(r.why().message() == "child.restart: unknown \"\"; use permanent, transient or temporary");
}

TEST_CASE("absurd numbers in a child spec are refused with who, which field and what was given") {
  struct row {
    std::string about;
    std::function<void(child_spec&)> spoil;
  };
  const std::vector<row> rows = {
      {"restarts must be from 0 to 1000000; given: 4294967295, which is what a negative number",
       [](auto& s) { s.intensity.restarts = static_cast<std::uint32_t>(-1); }},
      {"given: 1000001", [](auto& s) { s.intensity.restarts = 1'000'001; }},
      {"period must be positive", [](auto& s) { s.intensity.period = milliseconds(0); }},
      {"period must be positive, up to 7 days",
       [](auto& s) { s.intensity.period = milliseconds::max(); }},
      {"restart_backoff.cap", [](auto& s) { s.backoff.cap = milliseconds::max(); }},
      {"restart_backoff.factor",
       [](auto& s) { s.backoff.factor = std::numeric_limits<double>::quiet_NaN(); }},
      {"restart_backoff.factor",
       [](auto& s) { s.backoff.factor = std::numeric_limits<double>::infinity(); }},
      {"restart_backoff.jitter",
       [](auto& s) { s.backoff.jitter = std::numeric_limits<double>::quiet_NaN(); }},
      {"shutdown must be brutal_kill", [](auto& s) { s.shutdown = milliseconds(-1); }},
      {"shutdown must be brutal_kill", [](auto& s) { s.shutdown = std::chrono::hours(25); }},
      {"restart must be permanent", [](auto& s) { s.restart = static_cast<restart_type>(9); }},
  };
  for (const row& r : rows) {
    CAPTURE(r.about);
    child_spec spec;
    r.spoil(spec);
    const auto ok = check(spec, "child db");
    REQUIRE_FALSE(ok);
    CHECK(ok.why().category() == error_category::configuration);
    CHECK(ok.why().message().find("child db: ") == 0);
    CHECK(ok.why().message().find(r.about) != std::string::npos);
  }
}

TEST_CASE("the ends of every range are allowed") {
  child_spec spec;
  spec.intensity = {1'000'000, std::chrono::hours(24 * 7)};
  spec.backoff = {milliseconds(1), 1'000.0, std::chrono::hours(24 * 7), 1.0};
  for (const milliseconds m : {brutal_kill, milliseconds(std::chrono::hours(24)), infinity}) {
    spec.shutdown = m;
    CHECK(check(spec, "child db"));
  }
}

// -- supervisors ----------------------------------------------------------------------------------

struct nobody final : tree_orders {
  void start_worker(worker_ref) noexcept override {}
  void stop_worker(worker_ref) noexcept override {}
  void kill_worker(worker_ref) noexcept override {}
  void tree_started() noexcept override {}
  void tree_ended() noexcept override {}
};

std::string refusal(const tree_spec& spec) {
  nobody orders;
  const auto made = supervisor_tree::make(spec, orders, [] { return 0.5; });
  return made ? "" : made.why().message();
}

tree_spec worker(std::string id) {
  return tree_spec::worker({.id = std::move(id)});
}

TEST_CASE("a tree that makes no sense is refused with the supervisor, the child and what to do") {
  constexpr supervisor_flags plain{};
  constexpr supervisor_flags simple{.strategy = strategy::simple_one_for_one};
  constexpr supervisor_flags no_period{.intensity = {5, milliseconds(0)}};
  constexpr supervisor_flags absurd{.strategy = static_cast<strategy>(9)};
  auto crooked = worker("a");
  crooked.spec.backoff.jitter = 2;
  auto with_children = worker("a");
  with_children.children.push_back(worker("b"));
  struct row {
    tree_spec spec;
    std::string message;
  };
  const std::vector<row> rows = {
      {worker("a"), "supervision tree: the root must be a supervisor; give it flags"},
      {tree_spec::of("s", no_period, {}),
       "supervisor s: restart_intensity.period must be positive, up to 7 days; given: 0 ms"},
      {tree_spec::of("s", absurd, {}),
       "supervisor s: strategy must be one_for_one, one_for_all, rest_for_one or "
       "simple_one_for_one"},
      {tree_spec::of("s", plain, {worker("")}),
       "supervisor s: a child has no id; give each of them a name"},
      {tree_spec::of("s", plain, {worker("a"), worker("a")}),
       "supervisor s: two children have the id \"a\"; give them different names"},
      {tree_spec::of("s", plain, {crooked}),
       "supervisor s, child a: restart_backoff.jitter must be from 0 to 1; given: 2.000000"},
      {tree_spec::of("s", simple, {}),
       "supervisor s: simple_one_for_one needs exactly one child, its template; given: 0"},
      {tree_spec::of("s", simple, {tree_spec::of("t", plain, {})}),
       "supervisor s, child t: the template of simple_one_for_one must be a worker"},
      {tree_spec::of("s", plain, {with_children}),
       "supervisor s, child a: a worker has no children; give it flags to make it a supervisor"},
      {tree_spec::of("s", plain, {tree_spec::of("t", no_period, {})}),
       "supervisor t: restart_intensity.period must be positive, up to 7 days; given: 0 ms"},
  };
  for (const row& r : rows) CHECK(refusal(r.spec) == r.message);
}

TEST_CASE("a supervisor without children is allowed, and so is a deep tree") {
  CHECK(refusal(tree_spec::of("s", {}, {})).empty());
  tree_spec deep = worker("leaf");
  for (int i = 0; i < 100; ++i) {
    deep = tree_spec::of("s" + std::to_string(i), {}, {deep});
  }
  CHECK(refusal(deep).empty());
}

}  // namespace
}  // namespace bulkhead::supervision
