// Where a test keeps other threads until it has seen what it wants to see.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace bulkhead::tests {

// Waits on a condition variable, not a promise: a promise's waits are bare system calls, inside
// which ThreadSanitizer delivers no signal.
class gate {
 public:
  void open() {
    const std::lock_guard hold(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock hold(mutex_);
    ++waiting;
    changed_.wait(hold, [this] { return open_; });
  }
  std::atomic<int> waiting{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace bulkhead::tests
