// A connection as an actor: what messages do to it, and what its end tells others.
#include <bulkhead/actors/actor_shard.hpp>

#include <stdexcept>
#include <tests/tls/harness.hpp>
#include <thread>

#include "connection_support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

TEST_CASE("a connection actor serves, and its clean end has no reason") {
  connection_bench b;
  b.open();
  b.deliver(get("/a", "Connection: close\r\n"));
  CHECK(bodies(b.wire.take_sent()) == "GET /a");
  REQUIRE(b.watcher.downs.size() == 1);
  CHECK(b.watcher.downs[0] == caf::deep_to_string(caf::error{}));
  CHECK_FALSE(b.handle());  // freed
}

TEST_CASE("a defect becomes the connection's exit reason, with its text") {
  connection_bench b;
  b.handlers.serve = [](exchange&) { throw std::runtime_error("defect 4711"); };
  b.open();
  b.deliver(get("/"));
  REQUIRE(b.watcher.downs.size() == 1);
  CHECK(contains(b.watcher.downs[0], "defect 4711"));
  CHECK(b.wire.aborted());
  CHECK_FALSE(b.handle());
}

TEST_CASE("an exit message ends a connection at once and counts what was in flight") {
  connection_bench b;
  b.handlers.hold();
  b.open();
  b.deliver(get("/"));
  compat::post_exit(b.handle(), caf::exit_reason::user_shutdown);
  b.settle();
  CHECK(b.wire.closed());
  REQUIRE(b.watcher.downs.size() == 1);
  CHECK(contains(b.watcher.downs[0], "user_shutdown"));
  CHECK(b.counters().aborted == 1);
  CHECK(b.counters().open == 0);
}

TEST_CASE("a drain message lets the requests in flight finish") {
  connection_bench b;
  b.handlers.hold();
  b.open();
  b.deliver(get("/"));
  compat::post(b.handle(), drain_message{});
  b.settle();
  CHECK_FALSE(b.wire.finished());
  b.on([&] { b.handlers.held[0]->answer(http::response::text("a")); });
  CHECK(answers(b.wire.take_sent()).front().says_close());
  CHECK(b.wire.finished());
}

TEST_CASE("a handler on another thread answers through the connection's mailbox") {
  connection_bench b;
  std::vector<std::unique_ptr<reply_port>> ports;
  b.handlers.serve = [&](exchange& x) {
    b.handlers.held.emplace_back(x);
    ports.push_back(x.owner()->make_reply_port());
  };
  b.open();
  b.deliver(get("/a") + get("/b"));
  std::thread elsewhere([&] {
    ports[1]->deliver(std::move(b.handlers.held[1]), http::response::text("b"), verdict::completed);
    ports[0]->deliver(std::move(b.handlers.held[0]), http::response::text("a"), verdict::trapped);
  });
  elsewhere.join();
  b.settle();
  CHECK(bodies(b.wire.take_sent()) == "a b");
  CHECK(b.counters().completed == 1);
  CHECK(b.counters().trapped == 1);
  CHECK(b.counters().messages_handled == 2);
  CHECK(b.counters().lost == 0);
  ports.clear();
}

TEST_CASE("an answer for a connection that is gone is refused and counted") {
  connection_bench b;
  std::unique_ptr<reply_port> port;
  b.handlers.serve = [&](exchange& x) {
    b.handlers.held.emplace_back(x);
    port = x.owner()->make_reply_port();
  };
  b.open();
  b.deliver(get("/"));
  b.on([&] { b.wire.end(runtime::receive_end::reset); });
  std::thread elsewhere([&] {
    port->deliver(std::move(b.handlers.held[0]), http::response::text("a"), verdict::completed);
    port.reset();
  });
  elsewhere.join();
  b.settle();
  CHECK(b.counters().messages_refused == 1);
  CHECK(b.counters().lost == 0);
  CHECK(b.counters().aborted == 1);
  CHECK_FALSE(b.handle());  // the port held the last reference
}

// Regression: with a pipeline window wider than the mailbox's, answers over it were refused and
// their requests never answered.
TEST_CASE("the mailbox takes an answer for each request that may be in flight") {
  connection_bench b;
  b.env.settings.mailbox_window = 4;
  b.env.settings.limits.pipeline_window = 20;
  std::vector<std::unique_ptr<reply_port>> ports;
  b.handlers.serve = [&](exchange& x) {
    b.handlers.held.emplace_back(x);
    ports.push_back(x.owner()->make_reply_port());
  };
  b.open();
  std::string all;
  for (int i = 0; i < 20; ++i) all += get("/");
  b.deliver(all);
  REQUIRE(ports.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    ports[i]->deliver(std::move(b.handlers.held[i]), http::response::text("x"), verdict::completed);
  }
  ports.clear();
  b.settle();
  CHECK(answers(b.wire.take_sent()).size() == 20);
  CHECK(b.counters().messages_refused == 0);
}

TEST_CASE("a message that a connection does not know changes nothing") {
  connection_bench b;
  b.open();
  compat::post(b.handle(), std::string("what?"));
  b.settle();
  b.deliver(get("/"));
  CHECK(bodies(b.wire.take_sent()) == "GET /");
}

// -- its supervisor
// -----------------------------------------------------------------------------------

struct supervised_bench : connection_bench {
  struct end {
    bool fault;
    std::string why;
  };
  std::vector<end> ends;
  caf::actor supervisor =
      spawn_on<connection_supervisor>(unit, [this](bool fault, const std::string& why) {
        ends.push_back({fault, why});
      });

  [[nodiscard]] connection_supervisor& it() const {
    return *caf::actor_cast<connection_supervisor*>(supervisor);
  }
  void open_child() {
    open();
    on([this] { it().start_child(handle()); });
  }
};

TEST_CASE("the supervisor hears of each end once, and why a fault was one") {
  supervised_bench b;
  b.handlers.serve = [](exchange&) { throw std::runtime_error("defect"); };
  b.open_child();
  CHECK(b.it().children() == 1);
  b.deliver(get("/"));
  REQUIRE(b.ends.size() == 1);
  CHECK(b.ends[0].fault);
  CHECK(contains(b.ends[0].why, "defect"));
  CHECK(b.it().children() == 0);
}

TEST_CASE("a clean end and a stop are no faults to the supervisor") {
  supervised_bench b;
  b.open_child();
  SUBCASE("clean") {
    b.deliver(get("/", "Connection: close\r\n"));
  }
  SUBCASE("stopped") {
    b.on([&] {
      b.it().for_each(
          [](const caf::actor& c) { compat::post_exit(c, caf::exit_reason::user_shutdown); });
    });
  }
  REQUIRE(b.ends.size() == 1);
  CHECK_FALSE(b.ends[0].fault);
}

// Trap 7: a kill that came along a link would take the supervisor with it.
TEST_CASE("a killed connection does not take its supervisor with it") {
  supervised_bench b;
  b.open_child();
  compat::post_exit(b.handle(), caf::exit_reason::kill);
  b.settle();
  CHECK(b.it().alive());
  CHECK(b.ends.size() == 1);
  CHECK(b.wire.closed());
}

// Trap 9: nothing holds a dead connection; here the supervisor, a reply port and a link held it.
TEST_CASE("a dead connection is freed although others knew it") {
  supervised_bench b;
  std::unique_ptr<reply_port> port;
  b.handlers.serve = [&](exchange& x) { port = x.owner()->make_reply_port(); };
  b.open_child();
  b.on([&] { caf::actor_cast<connection*>(b.handle())->link_to(b.watching); });
  b.deliver(get("/"));
  port.reset();
  b.on([&] { b.wire.end(runtime::receive_end::reset); });
  CHECK_FALSE(b.handle());
}

// Regression: the TLS session of a client that left amid a request ended with its handler, on the
// handler's thread, whose memory then never came back to the shard.
TEST_CASE("a connection's TLS session ends on its shard, whatever a handler still holds") {
  connection_bench b;
  const tests::fixture made;
  const std::shared_ptr<const tls::context> context = made.context();
  b.env.tls = context;
  b.handlers.serve = [&](exchange& x) { b.handlers.held.emplace_back(x); };
  b.open(/*secure=*/true);
  tests::client client;
  for (;;) {
    client.step();
    const std::string up = client.take();
    if (up.empty()) break;
    b.deliver(up);
    client.give(b.wire.take_sent());
  }
  REQUIRE(client.connected());
  client.send(get("/x"));
  b.deliver(client.take());
  REQUIRE(b.handlers.held.size() == 1);
  const auto way_back = b.handlers.held[0]->owner()->make_reply_port();
  REQUIRE(context.use_count() == 3);  // the environment's and the session's
  b.on([&] { b.wire.end(runtime::receive_end::reset); });
  CHECK(b.handle() != nullptr);  // the way back keeps the actor
  CHECK(context.use_count() == 2);
}

}  // namespace
}  // namespace bulkhead::actors
