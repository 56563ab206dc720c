// The metrics page: complete, well-formed, and right for any names.
#include <bulkhead/supervision/server_metrics.hpp>
#include <bulkhead/version.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <tests/supervision/exposition_check.hpp>

namespace bulkhead::supervision {
namespace {

using testing::check_exposition;
using testing::scraped;

scraped scrape(const server_figures& f) {
  const std::string page = metrics_page(f);
  scraped s = check_exposition(page);
  CAPTURE(page);
  CAPTURE(s.line);
  CHECK(s.error.empty());
  return s;
}

// Numbers that no other figure of the page has.
actors::counters_snapshot distinct() {
  std::array<std::uint64_t, sizeof(actors::counters_snapshot) / sizeof(std::uint64_t)> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 7'000'001 + i;
  return std::bit_cast<actors::counters_snapshot>(numbers);
}

TEST_CASE("a server that has done nothing yet has a good page") {
  const auto s = scrape({});
  CHECK(s.value("bulkhead_ready") == "1");
  CHECK(s.value("bulkhead_requests_started_total") == "0");
  CHECK(s.value("bulkhead_faults_total") == "0");
}

TEST_CASE("every counter of a snapshot is on the page, once") {
  server_figures f;
  f.counters = distinct();
  const auto s = scrape(f);
  std::multiset<std::string> values;
  for (const auto& [name, value] : s.samples) values.insert(value);
  for (std::size_t i = 0; i < sizeof f.counters / sizeof(std::uint64_t); ++i) {
    CAPTURE(i);
    CHECK(values.count(std::to_string(7'000'001 + i)) == 1);
  }
}

TEST_CASE("each counter stands under its own name") {
  server_figures f;
  const actors::counters_snapshot& c = f.counters = distinct();
  const auto s = scrape(f);
  struct row {
    std::string name;
    std::uint64_t value;
  };
  for (const row& r : std::vector<row>{
           {"bulkhead_connections_admitted_total", c.admitted},
           {"bulkhead_connections_closed_total", c.closed},
           {"bulkhead_connections_rejected_total", c.rejected},
           {"bulkhead_connections_faulted_total", c.connection_faults},
           {"bulkhead_connections", c.open},
           {"bulkhead_tls_handshakes_total{result=\"completed\"}", c.handshakes},
           {"bulkhead_tls_handshakes_total{result=\"failed\"}", c.handshake_failures},
           {"bulkhead_tls_handshakes_total{result=\"timed_out\"}", c.handshake_timeouts},
           {"bulkhead_tls_truncated_total", c.truncated},
           {"bulkhead_requests_malformed_total", c.malformed},
           {"bulkhead_requests_late_total", c.late},
           {"bulkhead_requests_started_total", c.started},
           {"bulkhead_requests_completed_total", c.completed},
           {"bulkhead_requests_trapped_total", c.trapped},
           {"bulkhead_requests_aborted_total", c.aborted},
           {"bulkhead_requests_in_flight", c.in_flight},
           {"bulkhead_handler_restarts_total", c.restarted},
           {"bulkhead_messages_sent_total", c.messages_sent},
           {"bulkhead_messages_handled_total", c.messages_handled},
           {"bulkhead_messages_refused_total", c.messages_refused},
           {"bulkhead_messages_queued", c.messages_queued},
           {"bulkhead_messages_lost", c.lost},
       }) {
    CAPTURE(r.name);
    CHECK(s.value(r.name) == std::to_string(r.value));
  }
}

TEST_CASE("routes have their faults, restarts and state, two with one child id too") {
  server_figures f;
  f.routes = {
      {.route = "GET /a", .child = "mine", .state = "in_service", .faults = 3, .restarts = 2},
      {.route = "GET /b", .child = "mine", .state = "backing_off", .faults = 5, .restarts = 4}};
  const auto s = scrape(f);
  CHECK(s.value(R"(bulkhead_route_faults_total{route="GET /a",child="mine"})") == "3");
  CHECK(s.value(R"(bulkhead_route_restarts_total{route="GET /b",child="mine"})") == "4");
  const auto state = [&s](const std::string& route, const std::string& what) {
    return s.value("bulkhead_route_state{route=\"GET /" + route + "\",child=\"mine\",state=\"" +
                   what + "\"}");
  };
  CHECK(state("a", "in_service") == "1");
  CHECK(state("a", "backing_off") == "0");
  CHECK(state("a", "stopped") == "0");
  CHECK(state("b", "in_service") == "0");
  CHECK(state("b", "backing_off") == "1");
}

TEST_CASE("shards, faults, the log and the process are on the page") {
  server_figures f;
  f.shard_connections = {4, 9};
  f.faults.faults = 12;
  f.faults.requests_failed = 11;
  f.faults.sessions_lost = 2;
  f.faults.restart_time = std::chrono::microseconds(1'500'000);
  f.faults.kinds = {{"std::runtime_error", 10}, {"signal", 2}};
  f.ledger_capacity = 256;
  f.log_lines_dropped = 6;
  f.process_start = runtime::wall_time(std::chrono::milliseconds(1'700'000'000'250));
  f.mode = "worker";
  const auto s = scrape(f);
  CHECK(s.value(R"(bulkhead_shard_connections{shard="0"})") == "4");
  CHECK(s.value(R"(bulkhead_shard_connections{shard="1"})") == "9");
  CHECK(s.value("bulkhead_faults_total") == "12");
  CHECK(s.value(R"(bulkhead_faults_by_kind_total{kind="std::runtime_error"})") == "10");
  CHECK(s.value(R"(bulkhead_faults_by_kind_total{kind="signal"})") == "2");
  CHECK(s.value("bulkhead_fault_requests_failed_total") == "11");
  CHECK(s.value("bulkhead_fault_sessions_lost_total") == "2");
  CHECK(s.value("bulkhead_fault_restart_seconds_total") == "1.500000");
  CHECK(s.value("bulkhead_ledger_capacity") == "256");
  CHECK(s.value("bulkhead_log_lines_dropped_total") == "6");
  CHECK(s.value("process_start_time_seconds") == "1700000000.250000");
  const bool build_info = std::any_of(s.samples.begin(), s.samples.end(), [](const auto& sample) {
    return sample.first.starts_with("bulkhead_build_info{version=\"" + std::string(version_string) +
                                    "\",compiler=\"") &&
           sample.first.ends_with(",mode=\"worker\"}") && sample.second == "1";
  });
  CHECK(build_info);
}

TEST_CASE("why a server is not ready is on the page") {
  server_figures f;
  f.not_ready = {"draining", "cells unavailable"};
  const auto s = scrape(f);
  CHECK(s.value("bulkhead_ready") == "0");
  CHECK(s.value(R"(bulkhead_not_ready{reason="draining"})") == "1");
  CHECK(s.value(R"(bulkhead_not_ready{reason="cells unavailable"})") == "1");
}

TEST_CASE("no name of a route, a child, a kind or a reason can break the page") {
  server_figures f;
  const std::string evil = "\"} 1\n# TYPE x counter\nx{y=\"\\\r\x1b\xff";
  f.routes = {{.route = evil, .child = evil, .state = "in_service", .faults = 0, .restarts = 0}};
  f.faults.kinds = {{evil, 1}};
  f.not_ready = {evil};
  const auto s = scrape(f);
  CHECK(s.types.count("x") == 0);
}

}  // namespace
}  // namespace bulkhead::supervision
