// How many threads of one server may be lost to handlers that overran their deadline.
//
// Any thread. A thread cannot be taken back from a handler that does not return: it is replaced,
// and counted here until it comes back by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

namespace bulkhead::supervision {

class thread_budget {
 public:
  // `on_change(true)` when the last one is taken, `on_change(false)` when one of them is back; one
  // call at a time and in order, on the thread that does it. It must not call back.
  explicit thread_budget(std::uint32_t limit, std::function<void(bool exhausted)> on_change = {});

  // A thread is abandoned, and another one may be started in its place; false when there are too
  // many already.
  [[nodiscard]] bool take();
  void give_back();

  [[nodiscard]] std::uint32_t taken() const noexcept {
    return taken_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool exhausted() const noexcept { return taken() >= limit_; }

 private:
  const std::uint32_t limit_;
  std::function<void(bool)> on_change_;
  std::mutex mutex_;
  std::atomic<std::uint32_t> taken_{0};
};

}  // namespace bulkhead::supervision
