// Placement cell: handlers in worker processes, and what their faults cost.
#include <bulkhead/supervision/cell_limits.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cell_support.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;
using http::request;
using http::response;

response crash_or_pid(const request& r) {
  if (r.query() == "segv") ::raise(SIGSEGV);
  if (r.query() == "exit") std::exit(3);
  if (r.query() == "kill") ::kill(::getpid(), SIGKILL);
  if (r.query() == "throw") throw std::runtime_error("secret text");
  return pid_of_worker(r);
}

TEST_CASE("a cell answers from another process") {
  cell_bench b(router().get("/x", pid_of_worker, cell_spec()));
  CHECK(b.ask(get("/x")) == "200");
  CHECK(b.body() != std::to_string(::getpid()));
  CHECK(b.counters().completed == 1);
}

TEST_CASE("a worker that dies costs its request a 502, and the next one has another worker") {
  cell_bench b(router().get("/x", crash_or_pid, cell_spec()));
  for (const char* how : {"segv", "exit", "kill"}) {
    CAPTURE(how);
    CHECK(b.ask(get("/x")) == "200");
    const std::string before = b.body();
    CHECK(b.ask(get("/x?" + std::string(how))) == "502");
    CHECK(b.wire.sent().find("application/problem+json") != std::string::npos);
    CHECK(b.ask(get("/x")) == "200");
    CHECK(b.body() != before);
    CHECK(gone(std::stoi(before)));
  }
  CHECK_FALSE(b.wire.finished());
  CHECK(b.counters().trapped == 3);
  CHECK(b.faults.total() == 3);
}

TEST_CASE("the ledger says how each worker died") {
  cell_bench b(router().get("/x", crash_or_pid, cell_spec()));
  CHECK(b.ask(get("/x?segv") + get("/x?exit") + get("/x?kill"), 3) == "502 502 502");
  const auto seen = b.faults.recent();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].kind == "SIGSEGV");
  CHECK(seen[1].kind == "exit");
  CHECK(seen[1].what == "ended with status 3");
  CHECK(seen[2].kind == "SIGKILL");
  CHECK(seen[0].route == "GET /x");
  CHECK(seen[0].request != 0);
}

TEST_CASE("pipelined requests around a crash are answered in order, each once") {
  const blackboard board;
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request& r) {
        ++at->calls;
        return crash_or_pid(r);
      },
      cell_spec()));
  CHECK(b.ask(get("/x") + get("/x?segv") + get("/x") + get("/x?segv") + get("/x"), 5) ==
        "200 502 200 502 200");
  CHECK(board->calls == 5);
}

TEST_CASE("what a handler throws in a cell is a 500 without its text, and its state is rebuilt") {
  struct counting {
    int n = 0;
    response operator()(const request& r) {
      ++n;
      if (r.query() == "throw") throw std::runtime_error("secret text");
      return response::text(std::to_string(n));
    }
  };
  cell_bench b(router().get("/x", counting{}, cell_spec()));
  CHECK(b.ask(get("/x") + get("/x?throw") + get("/x"), 3) == "200 500 200");
  CHECK(b.wire.sent().find("secret") == std::string::npos);
  CHECK(answers(b.wire.sent())[2].body == "1");
  CHECK(b.faults.recent().at(0).what == "secret text");
  CHECK(b.faults.recent().at(0).kind == "std::runtime_error");
}

TEST_CASE("an allocation that fails is a 500, and its worker is replaced") {
  cell_bench b(router().get(
      "/x",
      [](const request& r) {
        if (r.query() == "much") throw std::bad_alloc();
        return pid_of_worker(r);
      },
      cell_spec()));
  CHECK(b.ask(get("/x")) == "200");
  const std::string before = b.body();
  CHECK(b.ask(get("/x?much")) == "500");
  CHECK(b.ask(get("/x")) == "200");
  CHECK(b.body() != before);
  // Regression: the worker went on with what lay in its ring, without a handler.
  warm_up(b, get("/x"));
  CHECK(b.ask(get("/x?much") + get("/x") + get("/x"), 3) == "500 200 200");
  CHECK(b.faults.total() == 2);
}

TEST_CASE("a request reaches the worker whole: fields, parameters, query, body, remote address") {
  cell_bench b(router().post(
      "/a/:name/*rest",
      [](const request& r) {
        std::string all = std::string(r.method_name()) + '|' + std::string(r.target()) + '|' +
                          std::string(r.path()) + '|' + std::string(r.query()) + '|' +
                          std::string(r.param("name")) + '|' + std::string(r.param("rest")) + '|' +
                          std::string(r.field("x-one")) + '|' + std::string(r.body());
        return response::text(all + '|' + std::to_string(r.field_count()))
            .status(201)
            .field("X-Two", "2");
      },
      cell_spec()));
  CHECK(b.ask(post("/a/b%20c/d/e?q=1", "the body", "X-One: 1\r\n")) == "201");
  CHECK(b.body() == "POST|/a/b%20c/d/e?q=1|/a/b c/d/e|q=1|b c|d/e|1|the body|3");
  CHECK(b.wire.sent().find("X-Two: 2\r\n") != std::string::npos);
}

TEST_CASE("bodies larger than the ring pass in both directions") {
  cell_bench b(router().post(
      "/x", [](const request& r) { return response::bytes(std::string(r.body())); }, cell_spec()));
  b.env.settings.limits.body = 4UL * 1024 * 1024;
  std::string body(900'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 % 251);
  b.deliver(post("/x", body));
  b.until([&] { return b.wire.sent().size() > body.size(); });
  const auto all = answers(b.wire.sent());
  REQUIRE(all.size() == 1);
  CHECK(all[0].body == body);
}

TEST_CASE("a worker that overruns its deadline costs a 503, and is killed although it resists") {
  const blackboard board;
  child_spec spec = cell_spec();
  spec.cell.deadline = milliseconds(1'000);
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request& r) {
        if (r.query().empty()) return pid_of_worker(r);
        ::signal(SIGTERM, SIG_IGN);
        at->pid = ::getpid();
        block(at);
        return response::text("too late");
      },
      spec));
  b.deliver(get("/x?slow"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.time.advance(milliseconds(999));
  b.settle();
  CHECK(b.wire.sent().empty());
  b.time.advance(milliseconds(2));
  CHECK(b.wait(1) == "503");
  CHECK(b.wire.sent().find("Retry-After: 1\r\n") != std::string::npos);
  CHECK(b.faults.recent().at(0).kind == "deadline");
  CHECK(b.ask(get("/x")) == "200");   // a spare serves on
  b.time.advance(milliseconds(501));  // grace
  b.settle();
  CHECK(gone(board->pid));
  CHECK(b.counters().aborted == 1);  // by a deadline
}

// Regression: what a late worker had begun in the time that it had left to end was begun again.
TEST_CASE("a request that a worker begins between its deadline and its death is not begun again") {
  const blackboard late, next;
  child_spec spec = cell_spec();
  spec.cell.deadline = milliseconds(1'000);
  cell_bench b(router().post(
      "/x",
      [late = late.get(), next = next.get()](const request& r) {
        if (r.query() == "late") {
          ::signal(SIGTERM, SIG_IGN);
          block(late);
        } else if (r.query() == "next") {
          ++next->calls;
          block(next);
        }
        return response::text("");
      },
      spec));
  b.env.settings.limits.body = 4UL * 1024 * 1024;
  warm_up(b, post("/x", ""));
  // The third's body does not fit the ring, so the worker cannot be asked to give the second back.
  b.deliver(post("/x?late", "") + post("/x?next", "") +
            post("/x?large", std::string(900'000, 'x')));
  REQUIRE(b.until([&] { return late->waiting == 1; }));
  b.time.advance(milliseconds(1'001));
  REQUIRE(b.until([&] { return b.faults.total() == 1; }));
  late.let_go();
  REQUIRE(b.until([&] { return next->waiting == 1; }));
  b.time.advance(spec.cell.grace);
  CHECK(b.wait(3) == "503 502 200");
  CHECK(next->calls == 1);
  CHECK(b.faults.total() == 1);
}

TEST_CASE("a request that waits for a worker longer than the deadline gets 503, and is no fault") {
  const blackboard board;
  child_spec spec = cell_spec();
  spec.cell.deadline = milliseconds(1'000);
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request& r) {
        if (r.query() == "slow") block(at);
        return response::text("");
      },
      spec));
  b.deliver(get("/x?slow"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.deliver(get("/x"));
  b.time.advance(milliseconds(400));
  b.deliver(get("/x"));
  b.time.advance(milliseconds(601));
  CHECK(b.wait(2) == "503 503");
  CHECK(b.faults.total() == 1);  // the first one's
  CHECK(b.wait(3) == "503 503 200");
  CHECK(b.counters().aborted == 2);
}

TEST_CASE("CPU time beyond the limit costs a 503, and the worker") {
  child_spec spec = cell_spec();
  spec.cell.cpu = seconds(1);
  cell_bench b(router().get(
      "/x",
      [](const request& r) {
        const volatile bool on = true;
        while (on && r.query() == "busy") {
        }
        return pid_of_worker(r);
      },
      spec));
  CHECK(b.ask(get("/x") + get("/x?busy") + get("/x"), 3) == "200 503 200");
  CHECK(b.faults.recent().at(0).kind == "SIGXCPU");
  CHECK(b.counters().aborted == 1);
}

TEST_CASE("too much resident memory costs a 500, and the worker") {
  const blackboard board;
  child_spec spec = cell_spec();
  spec.cell.resident = 1;  // any worker has more
  cell_bench b(router().get("/x", blocking(board), spec));
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.time.advance(milliseconds(50));
  CHECK(b.wait(1) == "500");
  CHECK(b.faults.recent().at(0).kind == "memory limit");
}

TEST_CASE("more requests than may wait are answered 503 at once") {
  const blackboard board;
  child_spec spec = cell_spec();
  spec.queue = 2;
  cell_bench b(router().get("/x", blocking(board), spec));
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.deliver(get("/x") + get("/x") + get("/x"));
  board.let_go();
  CHECK(b.wait(4) == "200 200 200 503");
}

TEST_CASE("requests behind one that turns out slow are given to another worker") {
  const blackboard board;
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request& r) {
        if (r.query() == "slow") block(at);
        if (r.query() == "behind") ++at->calls;
        return response::text("");
      },
      cell_spec(2)));
  warm_up(b, get("/x"));
  b.deliver(get("/x?slow") + get("/x?behind") + get("/x?behind"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  CHECK(b.until([&] {
    b.time.advance(milliseconds(1));
    return board->calls == 2;
  }));
  board.let_go();
  CHECK(b.wait(3) == "200 200 200");
}

TEST_CASE("an idempotent request whose worker died is replayed once where the route says so") {
  const blackboard board;
  child_spec spec = cell_spec();
  spec.cell.replay = true;
  const auto dies_at_first = [at = board.get()](const request& r) {
    const int call = ++at->calls;
    if (call == 1 || r.query() == "always") ::raise(SIGSEGV);
    return response::text(std::to_string(call));
  };
  SUBCASE("GET") {
    cell_bench b(router().get("/x", dies_at_first, spec));
    CHECK(b.ask(get("/x")) == "200");
    CHECK(b.body() == "2");
    CHECK(b.faults.total() == 1);
  }
  SUBCASE("GET that always crashes") {
    cell_bench b(router().get("/x", dies_at_first, spec));
    CHECK(b.ask(get("/x?always")) == "502");
    CHECK(board->calls == 2);
  }
  SUBCASE("POST is not") {
    cell_bench b(router().post("/x", dies_at_first, spec));
    CHECK(b.ask(post("/x", "")) == "502");
    CHECK(board->calls == 1);
  }
  SUBCASE("nor GET where the route says nothing") {
    cell_bench b(router().get("/x", dies_at_first, cell_spec()));
    CHECK(b.ask(get("/x")) == "502");
    CHECK(board->calls == 1);
  }
}

TEST_CASE("a worker is replaced after its number of requests, and nobody notices") {
  child_spec spec = cell_spec();
  spec.cell.max_requests = 3;
  cell_bench b(router().get("/x", pid_of_worker, spec));
  std::vector<std::string> pids;
  for (int i = 0; i < 9; ++i) {
    CHECK(b.ask(get("/x")) == "200");
    pids.push_back(b.body());
  }
  CHECK(pids[0] == pids[2]);
  CHECK(pids[2] != pids[3]);
  CHECK(pids[3] == pids[5]);
  CHECK(pids[5] != pids[6]);
  CHECK(gone(std::stoi(pids[0])));
  CHECK(b.faults.total() == 0);
}

TEST_CASE("a route beyond its intensity answers 503, and comes back after the back-off") {
  child_spec spec = cell_spec();
  spec.intensity.restarts = 2;
  spec.backoff.initial = std::chrono::seconds(5);
  cell_bench b(router().get("/x", crash_or_pid, spec));
  CHECK(b.ask(get("/x?segv") + get("/x?segv") + get("/x?segv"), 3) == "502 502 502");
  CHECK(b.ask(get("/x")) == "503");
  CHECK(b.wire.sent().find("Retry-After: 5\r\n") != std::string::npos);
  b.time.advance(std::chrono::seconds(6));
  CHECK(b.ask(get("/x")) == "200");
}

TEST_CASE("a client that leaves while its worker works costs nobody anything") {
  const blackboard board;
  cell_bench b(router().get("/x", blocking(board), cell_spec()));
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.on([&] { b.wire.end(runtime::receive_end::reset); });
  board.let_go();
  CHECK(b.counters().aborted == 1);
  CHECK(b.faults.total() == 0);
}

}  // namespace
}  // namespace bulkhead::supervision
