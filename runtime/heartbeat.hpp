// A shard's signs of life: that it goes on, and what it is busy with.
//
// Written by the shard's thread, with plain stores; a watchdog on another thread reads the pulse,
// and asks the shard's thread by signal where it is (stack_sample.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace bulkhead::runtime {

struct stack_sample;

// Who looks at pulses. While it sleeps, the first shard that wakes up wakes it.
class pulse_watcher {
 public:
  // On the shard's thread, when asleep() was true.
  virtual void on_awake() noexcept = 0;
  [[nodiscard]] bool asleep() const noexcept { return asleep_.load(std::memory_order_seq_cst); }

 protected:
  ~pulse_watcher() = default;
  void set_asleep(bool a) noexcept { asleep_.store(a, std::memory_order_seq_cst); }

 private:
  std::atomic<bool> asleep_{false};
};

class heartbeat {
 public:
  // What the shard is busy with. The texts outlive it.
  struct task {
    std::uint64_t id = 0;
    std::string_view method = {};
    std::string_view path = {};
  };

  // -- the shard's thread

  // Something new begins: a turn, an event, a request.
  void beat() noexcept {
    pulse_.store(pulse_.load(std::memory_order_relaxed) + 2, std::memory_order_relaxed);
  }
  // Around a wait that may block. Who is asleep is not stuck.
  void fall_asleep() noexcept {
    pulse_.store((pulse_.load(std::memory_order_relaxed) | 1U) + 1, std::memory_order_relaxed);
  }
  void wake_up() noexcept {
    // Before the question whether the watcher sleeps, in the order that all threads see: either it
    // sees this pulse before it falls asleep, or it is woken.
    pulse_.store((pulse_.load(std::memory_order_relaxed) | 1U) + 2, std::memory_order_seq_cst);
    if (watcher_ != nullptr && watcher_->asleep()) watcher_->on_awake();
  }
  // While it exists, the shard is busy with `t`.
  class busy_with {
   public:
    busy_with(heartbeat& h, const task& t) noexcept : heart_(h), before_(h.doing_), task_(t) {
      set(&task_);
    }
    busy_with(const busy_with&) = delete;
    busy_with& operator=(const busy_with&) = delete;
    ~busy_with() { set(before_); }

   private:
    void set(const task* t) noexcept {
      std::atomic_signal_fence(std::memory_order_release);
      heart_.doing_ = t;
      std::atomic_signal_fence(std::memory_order_release);
      heart_.beat();
    }
    heartbeat& heart_;
    const task* before_;
    task task_;
  };
  [[nodiscard]] const task* doing() const noexcept { return doing_; }

  // -- before the shard's thread starts

  void watched_by(pulse_watcher* w) noexcept { watcher_ = w; }

  // -- stack_sample.hpp

  // Where the thread writes where it is, when asked; null: it cannot be asked. Under the lock.
  stack_sample* sample = nullptr;
  std::mutex sample_lock;

  // -- the watcher

  [[nodiscard]] std::uint64_t pulse() const noexcept {
    return pulse_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] static bool awake(std::uint64_t pulse) noexcept { return (pulse & 1U) != 0; }

 private:
  alignas(64) std::atomic<std::uint64_t> pulse_{0};  // odd: awake
  const task* volatile doing_ = nullptr;
  pulse_watcher* watcher_ = nullptr;
};

}  // namespace bulkhead::runtime
