// What a worker process of a cell holds, obeys and may do, and starts that fail.
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

// Its factory answers or fails as the board says, from its second call on.
struct moody {
  blackboard::figures* at;
  response operator()(const request& r) const {
    if (r.query() == "throw") throw std::runtime_error("first");
    return pid_of_worker(r);
  }
};

TEST_CASE("a handler that cannot be rebuilt in its worker is said with the factory's reason") {
  const blackboard board;
  cell_bench b(router().get("/x", factory{[at = board.get()] {
                              if (++at->calls == 3) throw std::runtime_error("no database");
                              return moody{at};
                            }},
                            cell_spec()));
  CHECK(b.ask(get("/x?throw")) == "500");
  CHECK(b.until([&] { return b.faults.total() == 2; }));
  CHECK(b.faults.recent().at(1).kind == "start");
  CHECK(b.faults.recent().at(1).what == "its factory threw std::runtime_error: no database");
  CHECK(b.ask(get("/x")) == "200");
}

// Regression: a worker whose factory hung was waited for without end.
TEST_CASE("a worker that is not ready in time is a fault, and replaced") {
  const blackboard board;
  cell_bench b(router().get("/x", factory{[at = board.get()] {
                              if (++at->calls == 3) block(at);
                              return moody{at};
                            }},
                            cell_spec()));
  const std::string worker = (b.ask(get("/x")), b.body());
  ::kill(std::stoi(worker), SIGKILL);
  REQUIRE(b.until([&] { return board->waiting == 1; }));
  CHECK(b.faults.total() == 1);
  b.time.advance(seconds(10));
  CHECK(b.until([&] { return b.faults.total() == 2; }));
  CHECK(b.faults.recent().at(1).what == "the worker was not ready within 10 s");
  CHECK(b.until([&] { return board->calls == 4; }));
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
  {
    cell_bench b(router().get("/x", facts, cell_spec()));
    CHECK(b.ask(get("/x")) == "200");
    CHECK(b.body() == "10");
  }
  rlimit ours{};
  ::getrlimit(RLIMIT_CORE, &ours);
  child_spec spec = cell_spec();
  spec.cell.no_new_privileges = false;
  spec.cell.core_dumps = true;
  cell_bench b(router().get("/x", facts, spec));
  CHECK(b.ask(get("/x")) == "200");
  CHECK(b.body() == "0" + std::to_string(ours.rlim_cur));
}

}  // namespace
}  // namespace bulkhead::supervision
