#include <bulkhead/runtime/sleep.hpp>

#include <doctest/doctest.h>

#include <coroutine>
#include <exception>
#include <utility>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

// A coroutine whose frame goes with its handle.
class fiber {
 public:
  struct promise_type {
    std::exception_ptr thrown;
    fiber get_return_object() {
      return fiber(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { thrown = std::current_exception(); }
  };
  explicit fiber(std::coroutine_handle<promise_type> h) : handle_(h) {}
  fiber(fiber&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  fiber& operator=(fiber&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~fiber() {
    if (handle_) handle_.destroy();
  }
  [[nodiscard]] bool done() const { return handle_.done(); }
  [[nodiscard]] std::exception_ptr thrown() const { return handle_.promise().thrown; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

fiber sleeper(milliseconds how_long, int& wakes) {
  co_await sleep_for(how_long);
  ++wakes;
}

struct sleeping {
  virtual_clock time;
  shard s{0, time};
  int wakes = 0;
  std::vector<fiber> fibers;
  void begin(milliseconds how_long) {
    s.post([this, how_long] { fibers.push_back(sleeper(how_long, wakes)); });
    s.turn(false);
  }
};

TEST_CASE("sleep_for resumes when the time has come, and not before") {
  sleeping t;
  t.begin(milliseconds(10));
  CHECK(t.s.timers().armed() == 1);
  t.time.advance(milliseconds(9));
  t.s.turn(false);
  CHECK(t.wakes == 0);
  t.time.advance(milliseconds(1));
  t.s.turn(false);
  CHECK(t.wakes == 1);
  CHECK(t.fibers[0].done());
}

TEST_CASE("a sleep that begins late in a turn is not short") {
  sleeping t;
  t.s.post([&] {
    t.time.advance(milliseconds(50));  // the turn took its time
    t.fibers.push_back(sleeper(milliseconds(10), t.wakes));
  });
  t.s.turn(false);
  t.time.advance(milliseconds(9));
  t.s.turn(false);
  CHECK(t.wakes == 0);
  t.time.advance(milliseconds(1));
  t.s.turn(false);
  CHECK(t.wakes == 1);
}

TEST_CASE("destroying a sleeping coroutine cancels its sleep") {
  sleeping t;
  t.begin(milliseconds(10));
  t.fibers.clear();
  CHECK(t.s.timers().armed() == 0);
  t.time.advance(milliseconds(20));
  t.s.turn(false);
  CHECK(t.wakes == 0);
}

TEST_CASE("no time at all is no suspension") {
  int wakes = 0;
  const fiber f = sleeper(milliseconds(0), wakes);
  CHECK(wakes == 1);
  CHECK(f.done());
}

TEST_CASE("off a shard's thread sleep_for throws, for there is nothing to wait on") {
  int wakes = 0;
  const fiber f = sleeper(milliseconds(1), wakes);
  CHECK(f.done());
  REQUIRE(f.thrown());
  CHECK_THROWS_AS(std::rethrow_exception(f.thrown()), std::logic_error);
}

}  // namespace
}  // namespace bulkhead::runtime
