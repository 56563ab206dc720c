#include <bulkhead/runtime/signals.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <vector>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

TEST_CASE("a blocked signal arrives as an event of the shard") {
  block_signals({SIGUSR1, SIGUSR2});
  const system_clock time;
  shard s(0, time);
  std::vector<int> caught;
  const signal_source source(s, {SIGUSR1, SIGUSR2}, [&](int n) { caught.push_back(n); });
  REQUIRE(::pthread_kill(::pthread_self(), SIGUSR1) == 0);
  REQUIRE(::pthread_kill(::pthread_self(), SIGUSR2) == 0);
  CHECK(turn_until(s, [&] { return caught.size() == 2; }));
  CHECK(caught == std::vector<int>{SIGUSR1, SIGUSR2});
}

TEST_CASE("writing to a closed pipe is an error, not the end") {
  block_signals({});
  std::array<int, 2> fds{};
  REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
  const unique_fd out(fds[1]);
  ::close(fds[0]);
  CHECK(::write(out.get(), "x", 1) == -1);
  CHECK(errno == EPIPE);
}

}  // namespace
}  // namespace bulkhead::runtime
