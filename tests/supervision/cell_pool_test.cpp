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

response pid_of_worker(const request&) {
  return response::text(std::to_string(::getpid()));
}

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

TEST_CASE("too much resident memory costs a 500, and the worker") {
  const blackboard board;
  child_spec spec = cell_spec();
  spec.cell.resident = 1;  // any worker has more
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request&) {
        block(at);
        return response::text("");
      },
      spec));
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
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request&) {
        block(at);
        return response::text("");
      },
      spec));
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.deliver(get("/x") + get("/x") + get("/x"));
  board->go = true;
  CHECK(b.wait(4) == "200 200 200 503");
}

TEST_CASE("requests behind one that turns out slow are given to another worker") {
  const blackboard board;
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request& r) {
        if (r.query() == "slow") block(at);
        return response::text("");
      },
      cell_spec(2)));
  // A quick handler by now, so what comes at once goes into one worker's ring.
  for (int i = 0; i < 20; ++i) {
    std::string lot;
    for (int n = 0; n < 10; ++n) lot += get("/x");
    REQUIRE(b.ask(lot, 10).size() == 39);
  }
  b.deliver(get("/x?slow") + get("/x") + get("/x"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  CHECK(b.until([&] {
    b.time.advance(milliseconds(1));
    return b.counters().started == b.counters().completed + 3 &&
           b.env.counters.completed.get() >= 200 && b.set != nullptr;
  }));
  board->go = true;
  CHECK(b.wait(13).ends_with("200 200 200"));
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
  cell_bench b(router().get(
      "/x",
      [at = board.get()](const request&) {
        block(at);
        return response::text("for nobody");
      },
      cell_spec()));
  b.deliver(get("/x"));
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  b.on([&] { b.wire.end(runtime::receive_end::reset); });
  board->go = true;
  CHECK(b.counters().aborted == 1);
  CHECK(b.faults.total() == 0);
}

// -- what a worker is, and is not -----------------------------------------------------------------

TEST_CASE("a worker holds no descriptor of the server's: its standard ones and its bell") {
  const int ours = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  cell_bench b(router().get(
      "/x",
      [](const request&) {
        std::string all;
        for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
          std::error_code none;
          const auto target = std::filesystem::read_symlink(fd.path(), none).string();
          if (std::stoi(fd.path().filename()) > 2 && target.find("/proc/") != 0)
            all += target + ' ';
        }
        return response::text(all);
      },
      cell_spec()));
  CHECK(b.ask(get("/x")) == "200");
  CHECK(b.body() == "anon_inode:[eventfd] ");
  ::close(ours);
}

TEST_CASE("no worker outlives the zygote, and its route then answers 503") {
  cell_bench b(router().get("/x", pid_of_worker, cell_spec()));
  CHECK(b.ask(get("/x")) == "200");
  const int worker = std::stoi(b.body());
  ::kill(b.zygote->pid(), SIGKILL);
  CHECK(gone(worker));
  CHECK(b.until([&] { return b.ask(get("/x")) == "503"; }));
}

TEST_CASE("a signal to the whole group does not end a worker") {
  cell_bench b(router().get("/x", pid_of_worker, cell_spec()));
  CHECK(b.ask(get("/x")) == "200");
  const std::string pid = b.body();
  // As a terminal or a service manager does; this process is not the one that it obeys only if the
  // signal comes through kill() of another: the zygote's parent is. So a child sends it.
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::kill(std::stoi(pid), signal);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  CHECK(b.ask(get("/x")) == "200");
  CHECK(b.body() == pid);
}

TEST_CASE("a pool that goes takes its workers along, and leaves no zombie") {
  std::string pid;
  {
    cell_bench b(router().get("/x", pid_of_worker, cell_spec(3)));
    CHECK(b.ask(get("/x")) == "200");
    pid = b.body();
  }
  CHECK(gone(std::stoi(pid)));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

// -- starts that fail -----------------------------------------------------------------------------

std::string why_not_started(router routes) {
  const forked f(std::move(routes));
  runtime::virtual_clock time;
  ledger faults;
  auto set = route_set::make(f.routes, time, faults, nullptr);
  if (!set) return set.why().message();
  auto pool = cell_pool::start(*f.zygote, 0, *(*set)->routes()[0].supervisor,
                               *(*set)->routes()[0].cells, 0);
  return pool ? "" : pool.why().message();
}

TEST_CASE("a worker that cannot start is an error that names the route and the reason") {
  SUBCASE("its factory throws") {
    const auto never =
        factory{[]() -> decltype(&pid_of_worker) { throw std::runtime_error("no database"); }};
    CHECK(why_not_started(router().get("/x", never, cell_spec())) ==
          "route GET /x: its factory threw std::runtime_error: no database");
  }
  SUBCASE("its factory crashes") {
    const auto never = factory{[]() -> decltype(&pid_of_worker) {
      ::raise(SIGSEGV);
      return &pid_of_worker;
    }};
    CHECK(why_not_started(router().get("/x", never, cell_spec())) ==
          "route GET /x: its worker died at its start: SIGSEGV");
  }
}

TEST_CASE("options of cells that make no sense are refused with their name") {
  const auto refused = [](auto change) {
    child_spec s = cell_spec();
    change(s);
    return why_not_started(router().get("/x", pid_of_worker, s));
  };
  CHECK(refused([](child_spec& s) { s.cell.workers = 0; }) ==
        "route GET /x: cell.workers must be from 1 to 1024; given: 0");
  CHECK(refused([](child_spec& s) { s.cell.spares = 0; }).find("cell.spares must be from 1") !=
        std::string::npos);
  CHECK(refused([](child_spec& s) { s.cell.deadline = milliseconds(-1); }) ==
        "route GET /x: cell.deadline must be 0 (none) or up to 24 hours; given: -1 ms");
  CHECK(refused([](child_spec& s) { s.queue = 0; }) == "route GET /x: queue must be at least 1");
}

TEST_CASE("a process with threads makes no zygote, and the error says what to do") {
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) std::this_thread::yield();
  });
  const std::vector<route> none;
  auto made = cell_zygote::start(none);
  over = true;
  other.join();
  REQUIRE_FALSE(made);
  CHECK(made.why().message().find("call server::prepare() before") != std::string::npos);
}

// -- limits and filters ---------------------------------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("address space beyond the limit cannot be had, and the request gets a 500") {
  child_spec spec = cell_spec();
  spec.cell.address_space = 32UL * 1024 * 1024;
  cell_bench b(router().get(
      "/x",
      [](const request& r) {
        const std::size_t n = r.query().empty() ? 1UL << 20U : 64UL << 20U;
        return response::text(std::to_string(std::string(n, 'x').size()));
      },
      spec));
  CHECK(b.ask(get("/x") + get("/x?much") + get("/x"), 3) == "200 500 200");
}

TEST_CASE("the standard filter forbids sockets and programs, the strict one ends the worker") {
  const auto tries = [](const request& r) -> response {
    if (r.query() == "open") static_cast<void>(::open("/etc/hostname", O_RDONLY | O_CLOEXEC));
    const int fd = r.query() == "socket" ? ::socket(AF_INET, SOCK_STREAM, 0) : 0;
    return response::text(fd < 0 ? ::strerrorname_np(errno) : "had it");
  };
  child_spec spec = cell_spec();
  if (!can_filter(syscall_filter::standard)) return;  // built without libseccomp: refused at start
  SUBCASE("standard") {
    spec.cell.syscalls = syscall_filter::standard;
    cell_bench b(router().get("/x", tries, spec));
    CHECK(b.ask(get("/x?socket") + get("/x?open"), 2) == "200 200");
    CHECK(b.body() == "EPERM had it");
  }
  SUBCASE("strict") {
    spec.cell.syscalls = syscall_filter::strict;
    cell_bench b(router().get("/x", tries, spec));
    CHECK(b.ask(get("/x") + get("/x?open") + get("/x"), 3) == "200 502 200");
    CHECK(b.faults.recent().at(0).kind == "SIGSYS");
  }
}
#endif

TEST_CASE("a worker has no new privileges and writes no core, unless the route says so") {
  const auto facts = [](const request&) -> response {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line) && line.find("NoNewPrivs") != 0) {
    }
    rlimit core{};
    ::getrlimit(RLIMIT_CORE, &core);
    return response::text(line.substr(line.size() - 1) + std::to_string(core.rlim_cur));
  };
  cell_bench b(router().get("/x", facts, cell_spec()));
  CHECK(b.ask(get("/x")) == "200");
  CHECK(b.body() == "10");
}

}  // namespace
}  // namespace bulkhead::supervision
