#include <bulkhead/http/task.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace bulkhead::http {
namespace {

// A place to wait at until the test goes on.
struct gate {
  std::coroutine_handle<> waiting;

  auto operator co_await() noexcept {
    struct awaiter {
      gate& g;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) noexcept { g.waiting = h; }
      void await_resume() noexcept {}
    };
    return awaiter{*this};
  }
  void open() { std::exchange(waiting, nullptr).resume(); }
};

struct witness {
  explicit witness(int& gone) : count(&gone) {}
  witness(const witness&) = delete;
  ~witness() { ++*count; }
  int* count;
};

task<int> at_once(int v) {
  co_return v;
}

task<int> after(gate& g, int v, int& gone) {
  const witness w(gone);
  co_await g;
  co_return v;
}

task<int> twice(gate& g, int& gone) {
  const witness w(gone);
  const int a = co_await after(g, 20, gone);
  const int b = co_await after(g, 1, gone);
  co_return a * 2 + b + co_await at_once(1);
}

task<int> failing(gate& g) {
  co_await g;
  throw std::runtime_error("inside");
}

task<std::string> catching(gate& g) {
  try {
    co_return std::to_string(co_await failing(g));
  } catch (const std::runtime_error& e) {
    co_return std::string("caught ") + e.what();
  }
}

task<int> passing_on(gate& g) {
  co_return co_await failing(g) + 1;
}

void count(void* n) noexcept {
  ++*static_cast<int*>(n);
}

}  // namespace

TEST_CASE("a task does nothing until it is started") {
  int gone = 0;
  gate g;
  {
    const task<int> t = after(g, 1, gone);
    CHECK(static_cast<bool>(t));
    CHECK_FALSE(t.done());
    CHECK_FALSE(static_cast<bool>(g.waiting));
  }
  CHECK(gone == 0);  // its locals never were
}

TEST_CASE("a task that finishes at once is done and does not call back") {
  int called = 0;
  task<int> t = at_once(7);
  t.start(count, &called);
  CHECK(t.done());
  CHECK(called == 0);
  CHECK(t.take() == 7);
}

TEST_CASE("a task that finishes later calls back once") {
  int gone = 0;
  int called = 0;
  gate g;
  task<int> t = after(g, 7, gone);
  t.start(count, &called);
  CHECK_FALSE(t.done());
  CHECK(called == 0);
  g.open();
  CHECK(t.done());
  CHECK(called == 1);
  CHECK(gone == 1);
  CHECK(t.take() == 7);
}

TEST_CASE("the driver may destroy the task when it is called back") {
  struct driver {
    task<int> t;
    int value = 0;
    static void done(void* self) noexcept {
      auto* d = static_cast<driver*>(self);
      d->value = d->t.take();
      d->t = {};
    }
  } d;
  int gone = 0;
  gate g;
  d.t = twice(g, gone);
  d.t.start(&driver::done, &d);
  g.open();
  g.open();
  CHECK(d.value == 42);
  CHECK_FALSE(static_cast<bool>(d.t));
  CHECK(gone == 3);
}

TEST_CASE("a task that awaits another goes on with its value") {
  int gone = 0;
  int called = 0;
  gate g;
  task<int> t = twice(g, gone);
  t.start(count, &called);
  g.open();
  CHECK(called == 0);
  CHECK(gone == 1);
  g.open();
  CHECK(called == 1);
  CHECK(t.take() == 42);
}

TEST_CASE("destroying a suspended task destroys its locals and those of what it awaits") {
  int gone = 0;
  int called = 0;
  gate g;
  {
    task<int> t = twice(g, gone);
    t.start(count, &called);
    CHECK(gone == 0);
  }
  CHECK(gone == 2);
  CHECK(called == 0);
}

TEST_CASE("assigning to a task cancels what it held") {
  int gone = 0;
  int called = 0;
  gate g;
  task<int> t = after(g, 1, gone);
  t.start(count, &called);
  t = at_once(2);
  CHECK(gone == 1);
  t.start(count, &called);
  CHECK(t.take() == 2);
}

TEST_CASE("an exception reaches who takes the value") {
  int called = 0;
  gate g;
  task<int> t = failing(g);
  t.start(count, &called);
  g.open();
  CHECK(called == 1);
  CHECK_THROWS_WITH_AS((void)t.take(), "inside", std::runtime_error);
}

TEST_CASE("an exception can be caught where the task is awaited") {
  int called = 0;
  gate g;
  task<std::string> t = catching(g);
  t.start(count, &called);
  g.open();
  CHECK(t.take() == "caught inside");
}

TEST_CASE("an exception passes through tasks that do not catch it") {
  int called = 0;
  gate g;
  task<int> t = passing_on(g);
  t.start(count, &called);
  g.open();
  CHECK(called == 1);
  CHECK_THROWS_WITH_AS((void)t.take(), "inside", std::runtime_error);
}

TEST_CASE("a value that can only be moved comes through") {
  task<std::unique_ptr<int>> t = []() -> task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(5);
  }();
  t.start(count, nullptr);
  REQUIRE(t.done());
  CHECK(*t.take() == 5);
}

TEST_CASE("a value may be given in braces") {
  struct pair {
    int a, b;
  };
  task<pair> t = []() -> task<pair> { co_return {1, 2}; }();
  t.start(count, nullptr);
  CHECK(t.take().b == 2);
}

}  // namespace bulkhead::http
