// The admin address of a running server, on loopback.
#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <tests/supervision/exposition_check.hpp>
#include <thread>

#include "server_support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

server_options with_admin() {
  server_options o = plain();
  o.admin_listen = "127.0.0.1:0";
  return o;
}

bool soon(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

std::string body_of(const std::string& response) {
  return response.substr(response.find("\r\n\r\n") + 4);
}

TEST_CASE("the admin address answers about life, readiness, counters, faults and the tree") {
  server s(with_admin(), routes());
  REQUIRE(s.start());
  const std::string admin = s.admin_address();
  ask_once(s.addresses().front(), "GET /trap");
  CHECK(contains(ask_once(admin, "GET /live"), "HTTP/1.1 200 "));
  CHECK(contains(ask_once(admin, "GET /ready"), "{\"ready\":true}"));
  CHECK(contains(ask_once(admin, "GET /counters"), "\"trapped\":1"));
  const std::string faults = ask_once(admin, "GET /faults");
  CHECK(contains(faults, "\"what\":\"secret\""));
  CHECK(contains(faults, "Cache-Control: no-store\r\n"));
  const std::string tree = ask_once(admin, "GET /tree");
  CHECK(contains(tree, "{\"id\":\"bulkhead\",\"kind\":\"server\",\"state\":\"ready\""));
  CHECK(contains(tree, "\"id\":\"GET /trap\",\"kind\":\"route\",\"state\":\"in_service\""));
  CHECK(contains(tree, "\"placement\":\"actor\""));
  CHECK(contains(tree, "\"restarts\":1"));
  CHECK(contains(ask_once(admin, "GET /nothing"), "HTTP/1.1 404 "));
  CHECK(contains(ask_once(admin, "DELETE /live"), "HTTP/1.1 405 "));
}

TEST_CASE("from the first moment of a stop the admin address says that it is not ready") {
  std::promise<void> entered, release;
  auto released = release.get_future().share();
  child_spec on_scheduler;
  on_scheduler.placement = placement::actor;
  server s(with_admin(), router().get(
                             "/",
                             [&](const http::request&) {
                               entered.set_value();
                               released.wait();
                               return http::response::text("late");
                             },
                             on_scheduler));
  REQUIRE(s.start());
  std::string ready, answer;
  CHECK(run_and(s, [&] {
          loopback c(s.addresses().front());
          c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
          entered.get_future().wait();
          s.stop();
          CHECK(soon([&] { return !s.ready(); }));
          ready = ask_once(s.admin_address(), "GET /ready");
          release.set_value();
          answer = c.read_to_end();
        }) == 0);
  CHECK(contains(ready, "HTTP/1.1 503 "));
  CHECK(contains(ready, "{\"ready\":false,\"reasons\":[\"draining\"]}"));
  CHECK(contains(answer, "late"));
}

// The watcher is told on the control loop, in the middle of a stop: whatever follows waits for it.
TEST_CASE("readiness turns false before a stop closes anything") {
  server s(with_admin(), routes());
  std::string ready, served;
  bool told = false;
  s.readiness().on_change([&] {
    if (s.readiness().reasons() != std::vector<std::string>{"draining"} || told) return;
    told = true;
    ready = ask_once(s.admin_address(), "GET /ready");
    for (int i = 0; i < 20; ++i) served = ask_once(s.addresses().front(), "GET /");
  });
  REQUIRE(s.start());
  CHECK(run_and(s, [&] { s.stop(); }) == 0);
  CHECK(contains(ready, "HTTP/1.1 503 "));
  CHECK(contains(served, "hello"));
}

TEST_CASE("a server is not ready before its start, and says so") {
  server s(with_admin(), routes());
  CHECK_FALSE(s.ready());
  CHECK(s.readiness().reasons() == std::vector<std::string>{"starting"});
  REQUIRE(s.start());
  CHECK(s.ready());
}

TEST_CASE("a program may raise a reason of its own, and clear it") {
  server s(with_admin(), routes());
  REQUIRE(s.start());
  s.readiness().raise("no database");
  CHECK_FALSE(s.ready());
  CHECK(contains(ask_once(s.admin_address(), "GET /ready"), "\"reasons\":[\"no database\"]"));
  CHECK(contains(ask_once(s.admin_address(), "GET /tree"), "\"state\":\"no database\""));
  CHECK(contains(ask_once(s.addresses().front(), "GET /"), "hello"));
  s.readiness().clear("no database");
  CHECK(contains(ask_once(s.admin_address(), "GET /ready"), "HTTP/1.1 200 "));
}

TEST_CASE("a control loop that hangs is not live, and requests are served all the same") {
  server_options o = with_admin();
  o.liveness_limit = milliseconds(20);
  server s(o, routes());
  std::promise<void> hangs, release;
  auto released = release.get_future().share();
  bool once = false;
  s.readiness().on_change([&] {  // on the control loop, as the stop begins
    if (s.readiness().reasons() != std::vector<std::string>{"draining"} || once) return;
    once = true;
    hangs.set_value();
    released.wait();
  });
  REQUIRE(s.start());
  CHECK(run_and(s, [&] {
          CHECK(contains(ask_once(s.admin_address(), "GET /live"), "HTTP/1.1 200 "));
          s.stop();
          hangs.get_future().wait();
          CHECK(soon([&] { return contains(ask_once(s.admin_address(), "GET /live"), " 503 "); }));
          CHECK(contains(ask_once(s.addresses().front(), "GET /"), "hello"));
          release.set_value();
        }) == 0);
}

TEST_CASE("a server that is started and not run yet is live") {
  server_options o = with_admin();
  o.liveness_limit = milliseconds(1);
  server s(o, routes());
  REQUIRE(s.start());
  const auto end = std::chrono::steady_clock::now() + milliseconds(20);
  do {
    CHECK(contains(ask_once(s.admin_address(), "GET /live"), "HTTP/1.1 200 "));
  } while (std::chrono::steady_clock::now() < end);
}

TEST_CASE("the metrics of a running server are well-formed, in either mode") {
  for (const mode m : {mode::actor, mode::worker}) {
    server_options o = with_admin();
    o.mode = m;
    o.threads = 2;
    server s(o, routes());
    REQUIRE(s.start());
    ask_once(s.addresses().front(), "GET /");
    if (m == mode::actor) ask_once(s.addresses().front(), "GET /trap");
    const std::string answer = ask_once(s.admin_address(), "GET /metrics");
    CHECK(contains(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    const auto page = testing::check_exposition(body_of(answer));
    CAPTURE(answer);
    CAPTURE(page.line);
    CHECK(page.error.empty());
    CHECK(page.value("bulkhead_ready") == "1");
    CHECK(page.value("bulkhead_shard_connections{shard=\"1\"}") != "missing");
    const bool actor = m == mode::actor;
    CHECK(page.value("bulkhead_requests_started_total") == (actor ? "2" : "1"));
    CHECK(page.value("bulkhead_faults_total") == (actor ? "1" : "0"));
    CHECK(page.value(R"(bulkhead_route_faults_total{route="GET /trap",child="GET /trap"})") ==
          (actor ? "1" : "0"));
    CHECK(page.value("bulkhead_fault_requests_failed_total") == (actor ? "1" : "0"));
    CHECK(page.value("bulkhead_ledger_capacity") == "256");
    CHECK(std::stod(page.value("process_start_time_seconds")) > 1.6e9);
  }
}

TEST_CASE("the tree of a running server shows its listeners, shards and routes, in either mode") {
  for (const mode m : {mode::actor, mode::worker}) {
    server_options o = with_admin();
    o.mode = m;
    server s(o, routes());
    REQUIRE(s.start());
    const bool actor = m == mode::actor;
    const std::string tree = body_of(ask_once(s.admin_address(), "GET /tree.txt"));
    CAPTURE(tree);
    CHECK(contains(
        tree, std::string("server bulkhead [ready] mode=") + (actor ? "actor\n" : "worker\n")));
    CHECK(contains(tree, "├─ listener " + s.addresses().front() + " protocol=http\n"));
    CHECK(contains(tree, "├─ shard 0 connections=0\n"));
    CHECK(contains(tree, "│  └─ supervisor connections restart=temporary open=0 faults=0\n") ==
          actor);
    CHECK(contains(tree, actor ? "└─ route GET /actor [in_service] placement=actor "
                                 "strategy=one_for_one restart=permanent intensity_restarts=10 "
                                 "intensity_period_ms=10000 faults=0 restarts=0\n"
                               : "└─ route GET /actor [in_service] placement=actor "
                                 "strategy=none restart=none intensity_restarts=10 "
                                 "intensity_period_ms=10000 faults=0 restarts=0\n"));
  }
}

TEST_CASE("a fault at the admin address says what it cost and how long the restart took") {
  server s(with_admin(), routes());
  REQUIRE(s.start());
  ask_once(s.addresses().front(), "GET /trap");
  const std::string json = ask_once(s.admin_address(), "GET /faults?limit=1&child=GET+/trap");
  CHECK(contains(json, "\"requests_failed\":1,\"sessions_lost\":0,"));
  CHECK(contains(json, "\"restart_us\":"));
  CHECK_FALSE(contains(json, "\"restart_us\":0,"));
  CHECK(
      contains(ask_once(s.admin_address(), "GET /faults.txt"), "1 request failed, restart took "));
  CHECK(contains(ask_once(s.admin_address(), "GET /faults?since=1"), "\"faults\":[]"));
  CHECK(contains(ask_once(s.admin_address(), "GET /faults?since=x"), "HTTP/1.1 400 "));
}

}  // namespace
}  // namespace bulkhead::supervision
