// The server as a whole, on loopback: start errors as values, stop in every order.
#include <bulkhead/actors/caf_compat.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include "server_support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

// -- start
// ----------------------------------------------------------------------------------------------

TEST_CASE("a server that cannot start says what is wrong and what to do, as a value") {
  server_options o = plain();
  std::string about;
  auto category = error_category::configuration;
  SUBCASE("no address") {
    o.plain_listen.clear();
    about = "at least one address";
    category = error_category::usage;
  }
  SUBCASE("a server name that would break every response") {
    o.server_name = "Bulk\r\nhead";
    about = "server_name";
  }
  SUBCASE("a bad address") {
    o.plain_listen = {"127.0.0.1"};
    about = "127.0.0.1";
    category = error_category::usage;
  }
  SUBCASE("HTTPS without a certificate file") {
    o.listen = {"127.0.0.1:0"};
    o.tls = tls::files("/nowhere/cert.pem", "/nowhere/key.pem");
    about = "/nowhere/cert.pem";
  }
  SUBCASE("a bad admin address") {
    o.admin_listen = "nonsense";
    about = "nonsense";
    category = error_category::usage;
  }
  server s(o, routes());
  const auto started = s.start();
  REQUIRE_FALSE(started);
  CAPTURE(started.why().message());
  CHECK(contains(started.why().message(), about));
  CHECK((started.why().category() == category ||
         started.why().category() == error_category::configuration));
  CHECK_FALSE(s.ready());
}

TEST_CASE("a bad route is an error of start(), with the pattern") {
  server s(plain(), router().get("bad", [](const http::request&) { return http::response(); }));
  const auto started = s.start();
  REQUIRE_FALSE(started);
  CHECK(contains(started.why().message(), "bad"));
}

TEST_CASE("a port in use is an error that names the address") {
  server first(plain(), routes());
  REQUIRE(first.start());
  server_options o = plain();
  o.plain_listen = {first.addresses().front()};
  server second(o, routes());
  const auto started = second.start();
  REQUIRE_FALSE(started);
  CHECK(started.why().category() == error_category::resource);
  CHECK(contains(started.why().message(), first.addresses().front()));
}

// Regression: the second attempt waited for ever for the handler actors of the first.
TEST_CASE("a start that failed may be tried again") {
  auto first = std::make_unique<server>(plain(), routes());
  REQUIRE(first->start());
  server_options o = plain();
  o.plain_listen = {first->addresses().front()};
  server second(o, routes());
  REQUIRE_FALSE(second.start());
  const auto again = second.start();
  REQUIRE_FALSE(again);
  first.reset();
  REQUIRE(second.start());
  CHECK(contains(ask_once(second.addresses().front(), "GET /actor"), "from an actor"));
}

TEST_CASE("run() answers 2 when the server cannot start") {
  server_options o = plain();
  o.plain_listen.clear();
  server s(o, routes());
  CHECK(s.run() == 2);
}

TEST_CASE("starting twice is starting once") {
  server s(plain(), routes());
  REQUIRE(s.start());
  const auto where = s.addresses();
  CHECK(s.start());
  CHECK(s.addresses() == where);
}

// -- serving
// --------------------------------------------------------------------------------------------

TEST_CASE("after start() requests are served in either placement, and a trap is contained") {
  for (const mode m : {mode::actor, mode::worker}) {
    server_options o = plain();
    o.mode = m;
    server s(o, routes());
    REQUIRE(s.start());
    CHECK(s.ready());
    const std::string where = s.addresses().front();
    CHECK(contains(ask_once(where, "GET /"), "hello"));
    CHECK(contains(ask_once(where, "GET /actor"), "from an actor"));
    CHECK(contains(ask_once(where, "GET /made"), "made while sent"));
    if (m == mode::actor) {
      const std::string trapped = ask_once(where, "GET /trap");
      CHECK(contains(trapped, "HTTP/1.1 500 "));
      CHECK_FALSE(contains(trapped, "secret"));
      CHECK(s.faults().total() == 1);
      CHECK(s.counters().restarted == 1);
    }
  }
}

// -- stop
// -----------------------------------------------------------------------------------------------

TEST_CASE("a stop drains and run() answers 0") {
  server s(plain(), routes());
  REQUIRE(s.start());
  CHECK(run_and(s, [&] {
          CHECK(contains(ask_once(s.addresses().front(), "GET /"), "hello"));
          s.stop();
        }) == 0);
  CHECK_FALSE(s.ready());
  const auto c = s.counters();
  CHECK(c.open == 0);
  CHECK(c.completed == 1);
  CHECK(c.lost == 0);
}

TEST_CASE("stopping twice is stopping once") {
  server s(plain(), routes());
  REQUIRE(s.start());
  CHECK(run_and(s, [&] {
          s.stop();
          s.stop();
        }) == 0);
  s.stop();
}

TEST_CASE("a stop before run() lets run() return at once") {
  server s(plain(), routes());
  s.stop();
  CHECK(run_and(s, [] {}) == 0);
}

TEST_CASE("a stop between start() and run() lets run() return at once") {
  server s(plain(), routes());
  REQUIRE(s.start());
  s.stop();
  CHECK(run_and(s, [] {}) == 0);
}

TEST_CASE("a handler may stop the server, and its own answer is still delivered") {
  for (const placement where : {placement::inline_, placement::actor}) {
    server* self = nullptr;
    child_spec spec;
    spec.placement = where;
    server s(plain(), router().post(
                          "/stop",
                          [&self](const http::request&) {
                            self->stop();
                            return http::response::text("stopping");
                          },
                          spec));
    self = &s;
    REQUIRE(s.start());
    std::string answer;
    CHECK(run_and(s, [&] {
            loopback c(s.addresses().front());
            c.send("POST /stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
            answer = c.read_to_end();
          }) == 0);
    CHECK(contains(answer, "stopping"));
    CHECK(s.counters().completed == 1);
  }
}

TEST_CASE("a stop that has to cut off a request answers 1") {
  server_options o = plain();
  o.drain_limit = milliseconds(20);
  std::promise<void> entered;
  struct forever {
    static bool await_ready() noexcept { return false; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    static void await_resume() noexcept {}
  };
  server s(o, router().get("/", [&entered](const http::request&) -> http::task<http::response> {
    entered.set_value();
    co_await forever{};
    co_return http::response::text("");
  }));
  REQUIRE(s.start());
  loopback c(s.addresses().front());
  CHECK(run_and(s, [&] {
          c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
          entered.get_future().wait();
          s.stop();
        }) == 1);
  CHECK(s.counters().aborted == 1);
}

// -- destruction
// ------------------------------------------------------------------------------------------

TEST_CASE("a server that was never started is destroyed") {
  const server s(plain(), routes());
  CHECK(s.addresses().empty());
  CHECK(s.counters().admitted == 0);
}

TEST_CASE("a server that was started and never run is destroyed, open connections and all") {
  auto s = std::make_unique<server>(plain(), routes());
  REQUIRE(s->start());
  loopback c(s->addresses().front());
  c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(contains(c.read_until("hello"), "hello"));
  s.reset();
  c.read_to_end();
  CHECK(c.ended());
}

// Trap 2 (caf.md 4.2), as a program that embeds us meets it.
TEST_CASE("a server leaves no CAF logger on the threads that used it") {
  server s(plain(), routes());
  REQUIRE(s.start());
  CHECK(caf::logger::current_logger() == nullptr);
}

}  // namespace
}  // namespace bulkhead::supervision
