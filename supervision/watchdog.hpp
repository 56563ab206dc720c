// The watchdog of a server: one thread that looks whether its shards go on.
//
// It looks every half threshold while a shard works, and sleeps while all of them do.
#pragma once

#include <bulkhead/runtime/stack_sample.hpp>
#include <bulkhead/supervision/stall_detector.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bulkhead::supervision {

class watchdog final : public runtime::pulse_watcher {
 public:
  // A shard held up by one thing for longer than the threshold.
  struct stall {
    unsigned shard = 0;
    runtime::milliseconds held{0};  // at least, so far
    std::uint64_t others = 0;       // of this shard since the last report, not reported
    runtime::stack_trace where = {};
  };
  // `on_stall` on the watchdog's thread.
  watchdog(runtime::milliseconds threshold, std::function<void(const stall&)> on_stall);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // Before the shard's thread starts, and before start(). The heart outlives the watchdog's thread.
  void watch(unsigned shard, runtime::heartbeat& heart);
  void start();
  // No look after it. The watchdog itself must outlive the threads of the shards.
  void stop() noexcept;

  // Any thread. How often a shard was held up; one that lasts is counted once.
  [[nodiscard]] std::uint64_t stalls() const noexcept {
    return stalls_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t looks() const noexcept {
    return looks_.load(std::memory_order_relaxed);
  }

 private:
  struct watched {
    unsigned shard;
    runtime::heartbeat* heart;
    stall_detector detector;
  };

  void on_awake() noexcept override;
  void run();
  bool look();
  [[nodiscard]] bool unchanged() const noexcept;
  void report(watched& w, const stall_detector::stall& s);

  runtime::milliseconds threshold_;
  std::function<void(const stall&)> on_stall_;
  std::vector<watched> watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> stalls_{0};
  std::atomic<std::uint64_t> looks_{0};
  std::thread thread_;
};

}  // namespace bulkhead::supervision
