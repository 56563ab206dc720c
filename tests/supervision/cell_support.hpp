// What the tests of cells share: routes whose handlers run in real worker processes, behind a
// connection in memory, on a loop and a clock that the test turns by hand.
#pragma once

#include <bulkhead/supervision/cell_bell.hpp>
#include <bulkhead/supervision/cell_zygote.hpp>
#include <bulkhead/supervision/route_set.hpp>
#include <bulkhead/supervision/supervised_dispatcher.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <tests/actors/connection_support.hpp>
#include <utility>

namespace bulkhead::supervision::testing {

using namespace actors::testing;

// Memory that the test and its worker processes share; made before the zygote.
class blackboard {
 public:
  struct figures {
    std::atomic<int> calls{0};
    std::atomic<int> waiting{0};
    std::atomic<std::uint32_t> go{0};  // a futex: processes share it
    std::atomic<int> pid{0};
  };
  blackboard()
      : at_(new (::mmap(nullptr, sizeof(figures), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)) figures) {}
  blackboard(const blackboard&) = delete;
  blackboard& operator=(const blackboard&) = delete;
  ~blackboard() { ::munmap(at_, sizeof(figures)); }

  // Every handler that waits now or later goes on.
  void let_go() const noexcept {
    at_->go = 1;
    futex_wake_all(at_->go);
  }

  figures* operator->() const noexcept { return at_; }
  figures* get() const noexcept { return at_; }

 private:
  figures* at_;
};

// Blocks a handler until the test says go.
inline void block(blackboard::figures* b) {
  ++b->waiting;
  while (b->go == 0) futex_wait(b->go, 0);
}

inline http::response pid_of_worker(const http::request&) {
  return http::response::text(std::to_string(::getpid()));
}

// Blocks at each request.
inline auto blocking(const blackboard& b) {
  return [at = b.get()](const http::request&) {
    block(at);
    return http::response::text("");
  };
}

inline child_spec cell_spec(std::uint32_t workers = 1) {
  child_spec s;
  s.placement = placement::cell;
  s.cell.workers = workers;
  s.intensity.restarts = 100;
  s.backoff.jitter = 0.0;
  return s;
}

// The zygote comes before every thread of the bench.
struct forked {
  explicit forked(router r) : routes(std::move(r)) {
    auto made = cell_zygote::start(routes.routes());
    if (!made) FAIL(made.why().message());
    zygote = std::move(*made);
  }
  router routes;
  std::unique_ptr<cell_zygote> zygote;
};

struct cell_bench : forked, connection_bench {
  ledger faults;
  std::unique_ptr<route_set> set;
  std::unique_ptr<supervised_dispatcher> dispatcher;

  explicit cell_bench(router r) : forked(std::move(r)) {
    auto made = route_set::make(routes, time, faults, &actors);
    if (!made) FAIL(made.why().message());
    set = std::move(*made);
    dispatcher = std::make_unique<supervised_dispatcher>(*set, 0, zygote.get());
    on([this] { dispatcher->start(loop); });
    handlers.serve = [this](actors::exchange& x) { dispatcher->dispatch(x); };
    open();
  }
  ~cell_bench() {
    // The connection first, as in a server: its shard has ended when the workers are let go.
    if (auto c = handle()) actors::compat::post_exit(c, caf::exit_reason::kill);
    settle();
    handlers.serve = nullptr;
    dispatcher.reset();
  }
  // Delivers and waits for so many answers to everything so far; their statuses.
  std::string ask(const std::string& requests, std::size_t expected = 1) {
    static_cast<void>(wire.take_sent());
    deliver(requests);
    return wait(expected);
  }
  std::string wait(std::size_t expected) {
    until([&] { return answers(wire.sent()).size() >= expected; });
    return statuses(wire.sent());
  }
  std::string body() { return bodies(wire.sent()); }
};

// Whether that process is gone, within a bounded time.
inline bool gone(pid_t pid) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

// Until the route counts as quick, so that what comes at once goes into one worker's ring.
inline void warm_up(cell_bench& b, const std::string& request) {
  for (int i = 0; i < 20; ++i) {
    std::string lot;
    for (int n = 0; n < 10; ++n) lot += request;
    REQUIRE(answers((static_cast<void>(b.ask(lot, 10)), b.wire.sent())).size() == 10);
  }
  static_cast<void>(b.wire.take_sent());
}

}  // namespace bulkhead::supervision::testing
