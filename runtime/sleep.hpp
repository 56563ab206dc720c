// co_await sleep_for(10ms): suspends a coroutine on its shard's timer wheel.
#pragma once

#include <bulkhead/runtime/shard.hpp>

#include <coroutine>
#include <stdexcept>

namespace bulkhead::runtime {

class sleep_for {
 public:
  explicit sleep_for(milliseconds how_long) noexcept : how_long_(how_long) {}
  sleep_for(const sleep_for&) = delete;
  sleep_for& operator=(const sleep_for&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return how_long_ <= milliseconds::zero(); }
  // Throws std::logic_error off a shard's thread: there is no wheel to wait on.
  void await_suspend(std::coroutine_handle<> waiting) {
    shard* here = shard::current();
    if (here == nullptr) throw std::logic_error("sleep_for: not on a shard's thread");
    waiting_ = waiting;
    // From the clock, not from the turn's start: a sleep is never short.
    here->timers().arm(timer_, here->time().now() + how_long_);
  }
  void await_resume() const noexcept {}

 private:
  static void expired(void* self) noexcept { static_cast<sleep_for*>(self)->waiting_.resume(); }

  milliseconds how_long_;
  std::coroutine_handle<> waiting_;
  timer timer_{&expired, this};  // cancelled with the coroutine's frame
};

}  // namespace bulkhead::runtime
