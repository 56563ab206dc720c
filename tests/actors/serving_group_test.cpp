// Shards behind real sockets: capacity, an even spread, and the drain with and without patience.
#include <bulkhead/actors/serving_group.hpp>

#include <caf/logger.hpp>

#include <atomic>
#include <functional>
#include <set>

#include "actor_support.hpp"
#include "loopback.hpp"
#include "support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;
using tests::loopback;

class shared_script final : public dispatcher {
 public:
  explicit shared_script(std::function<void(exchange&)> f) : f_(std::move(f)) {}
  void dispatch(exchange& x) override { f_(x); }

 private:
  std::function<void(exchange&)> f_;
};

struct group_bench {
  runtime::system_clock time;
  actor_runtime actors{1};
  runtime::shard control{99, time};
  std::function<void(exchange&)> serve = [](exchange& x) {
    x.answer(http::response::text(echo_of(x.request)));
  };
  std::atomic<int> faults{0};
  std::unique_ptr<serving_group> group;

  void start(serving_mode mode, unsigned shards, std::uint32_t capacity) {
    auto opened = serving_group::open(
        {.secure = {},
         .plain = {*runtime::endpoint::parse("127.0.0.1:0")},
         .tls = {},
         .mode = mode,
         .shards = shards,
         .capacity = capacity,
         .connections = {},
         .server_name = "test",
         .certificate_check = seconds(1),
         .make_dispatcher = [this](unsigned) { return std::make_unique<shared_script>(serve); },
         .on_connection_fault = [this](unsigned, const std::string&) { ++faults; }},
        control, mode == serving_mode::actor ? &actors : nullptr);
    REQUIRE(opened);
    group = std::move(*opened);
    group->start();
  }
  [[nodiscard]] std::string address() const { return group->addresses().front(); }
  bool until(const std::function<bool()>& done) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < give_up) {
      control.turn(false);
      std::this_thread::yield();
    }
    return done();
  }
  bool drain(milliseconds limit) {
    bool done = false;
    group->drain(limit, [&done] { done = true; });
    return until([&] { return done; });
  }
  [[nodiscard]] bool cut_off() const {
    for (const auto& s : group->shards()) {
      if (s->cut_off()) return true;
    }
    return false;
  }
};

TEST_CASE("both modes serve over a real socket, and their counters balance") {
  for (const auto mode : {serving_mode::actor, serving_mode::worker}) {
    group_bench b;
    b.start(mode, 2, 100);
    CHECK(bodies(tests::ask_once(b.address(), "GET /a")) == "GET /a");
    CHECK(b.drain(seconds(20)));
    const auto c = b.group->counters();
    CHECK(c.admitted == 1);
    CHECK(c.closed == 1);
    CHECK(c.completed == 1);
    CHECK(c.in_flight == 0);
    CHECK(c.lost == 0);
  }
}

TEST_CASE("a connection over the capacity is answered with 503, counted, and closed") {
  group_bench b;
  b.start(serving_mode::actor, 1, 2);
  std::vector<std::unique_ptr<loopback>> inside;
  for (int i = 0; i < 2; ++i) {
    inside.push_back(std::make_unique<loopback>(b.address()));
    inside.back()->send(get("/"));
    REQUIRE(statuses(inside.back()->read_until("GET /")) == "200");
  }
  loopback outside(b.address());
  const auto refused = answers(outside.read_to_end());
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].status == 503);
  CHECK(refused[0].head.find("Retry-After: ") != std::string::npos);
  CHECK(b.group->counters().rejected == 1);
  CHECK(b.group->counters().admitted == 2);
}

TEST_CASE("a connection that ends gives its admission back") {
  group_bench b;
  b.start(serving_mode::actor, 1, 1);
  for (int i = 0; i < 3; ++i) {
    CHECK(statuses(tests::ask_once(b.address(), "GET /")) == "200");
    CHECK(b.until([&] { return b.group->counters().open == 0; }));
  }
  CHECK(b.group->counters().rejected == 0);
}

TEST_CASE("connections spread evenly over the shards, however the kernel hashes them") {
  group_bench b;
  b.start(serving_mode::actor, 2, 100);
  std::vector<std::unique_ptr<loopback>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<loopback>(b.address()));
    all.back()->send(get("/"));
    REQUIRE(statuses(all.back()->read_until("GET /")) == "200");
  }
  const auto one = static_cast<int>(b.group->shards()[0]->open());
  const auto two = static_cast<int>(b.group->shards()[1]->open());
  CHECK(one + two == 20);
  CHECK(std::abs(one - two) <= 4);
}

TEST_CASE("a drain lets idle connections go and is done when the last has gone") {
  group_bench b;
  b.start(serving_mode::actor, 2, 100);
  loopback idle(b.address());
  idle.send(get("/"));
  idle.read_until("GET /");
  bool done = false;
  b.group->drain(seconds(60), [&done] { done = true; });
  std::thread peer([&] {
    idle.read_to_end();
    idle.finish();
  });
  CHECK(b.until([&] { return done; }));
  peer.join();
  CHECK(idle.ended());
  CHECK_FALSE(b.cut_off());
  CHECK(b.group->counters().open == 0);
}

TEST_CASE("a drain that runs out of time cuts off what is left, and says so") {
  for (const auto mode : {serving_mode::actor, serving_mode::worker}) {
    group_bench b;
    // References to exchanges are touched on the shard alone.
    const auto held = std::make_shared<std::vector<exchange_ref>>();
    std::atomic<int> started{0};
    b.serve = [&started, held](exchange& x) {
      held->emplace_back(x);
      ++started;
    };
    b.start(mode, 1, 100);
    loopback waiting(b.address());
    waiting.send(get("/"));
    REQUIRE(b.until([&] { return started == 1; }));
    CHECK(b.drain(milliseconds(20)));
    CHECK(b.cut_off());
    CHECK(answers(waiting.read_to_end()).empty());
    CHECK(b.group->counters().aborted == 1);
    CHECK(b.group->counters().open == 0);
    b.group->stop_and_join();
    held->clear();
  }
}

TEST_CASE("a defect ends its connection, is reported, and leaves the others alone") {
  group_bench b;
  b.serve = [](exchange& x) {
    if (x.request.path() == "/fault") throw std::runtime_error("defect");
    x.answer(http::response::text("fine"));
  };
  b.start(serving_mode::actor, 1, 100);
  loopback healthy(b.address());
  healthy.send(get("/"));
  healthy.read_until("fine");
  CHECK(answers(tests::ask_once(b.address(), "GET /fault")).empty());
  CHECK(b.until([&] { return b.faults == 1; }));
  healthy.send(get("/"));
  CHECK(bodies(healthy.read_until("fine")) == "fine");
}

// Trap 1 (caf.md 4.1), on a shard that serves.
TEST_CASE("a shard that serves connection actors has no CAF logger") {
  group_bench b;
  std::atomic<bool> logger{true};
  b.serve = [&](exchange& x) {
    logger = caf::logger::current_logger() != nullptr;
    x.answer(http::response::text(""));
  };
  b.start(serving_mode::actor, 1, 100);
  tests::ask_once(b.address(), "GET /");
  CHECK_FALSE(logger);
}

// Regression for leaks (ASan): nobody else frees what is open when a server is thrown away.
TEST_CASE("a group that is destroyed with open connections frees them") {
  for (const auto mode : {serving_mode::actor, serving_mode::worker}) {
    group_bench b;
    b.start(mode, 2, 100);
    std::vector<std::unique_ptr<loopback>> all;
    for (int i = 0; i < 4; ++i) {
      all.push_back(std::make_unique<loopback>(b.address()));
      all.back()->send(get("/"));
      REQUIRE(statuses(all.back()->read_until("GET /")) == "200");
    }
    b.group.reset();
    for (auto& c : all) {
      c->read_to_end();
      CHECK(c->ended());
    }
  }
}

TEST_CASE("a bad address and an address in use are errors that name it") {
  group_bench b;
  b.start(serving_mode::actor, 1, 10);
  const auto again = serving_group::open(
      {.secure = {},
       .plain = {*runtime::endpoint::parse(b.address())},
       .tls = {},
       .connections = {},
       .server_name = {},
       .make_dispatcher = [&](unsigned) { return std::make_unique<shared_script>(b.serve); },
       .on_connection_fault = {}},
      b.control, &b.actors);
  REQUIRE_FALSE(again);
  CHECK(contains(again.why().message(), b.address()));
}

TEST_CASE("a crowd has left when three of four are gone, and is reported once") {
  admission a(1'000);
  int left = 0;
  a.on_crowd_left = [&] { ++left; };
  const auto come = [&](int n) {
    for (int i = 0; i < n; ++i) REQUIRE(a.admit());
  };
  const auto go = [&](int n) {
    for (int i = 0; i < n; ++i) a.leave();
  };
  come(63);
  go(63);
  CHECK(left == 0);  // too few to be one
  come(100);
  go(74);
  CHECK(left == 0);
  go(1);
  CHECK(left == 1);
  go(25);
  CHECK(left == 1);
  come(64);
  go(64);
  CHECK(left == 2);
}

}  // namespace
}  // namespace bulkhead::actors
