// What the kernel says of this process.
#include <bulkhead/runtime/process.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace bulkhead::runtime {
namespace {

// A child starts between two moments that we know; ticks are hundredths of a second.
TEST_CASE("a process started when it was started") {
  using clock = std::chrono::system_clock;
  const auto slack = std::chrono::milliseconds(30);
  const auto before = clock::now();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const wall_time start = process_start();
    ::_exit(start >= before - slack && start <= clock::now() + slack ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(process_start() <= before);
}

}  // namespace
}  // namespace bulkhead::runtime
