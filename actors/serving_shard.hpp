// One shard that serves: its thread, its listeners, its connections; as actors or as the twin.
//
// Made and joined by the server's thread; everything else happens on the shard's own.
#pragma once

#include <bulkhead/actors/environment.hpp>
#include <bulkhead/runtime/endpoint.hpp>
#include <bulkhead/runtime/listener.hpp>
#include <bulkhead/runtime/shard.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bulkhead::actors {

class serving_shard;

// Admissions of all shards together: who may come in, and where it is served.
class admission {
 public:
  explicit admission(std::uint32_t capacity) noexcept : capacity_(capacity) {}

  // Takes one credit; false when the server is full. Any thread.
  [[nodiscard]] bool admit() noexcept {
    const std::uint32_t before = open_.fetch_add(1, std::memory_order_relaxed);
    if (before >= capacity_) {
      open_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    if (before >= peak_.load(std::memory_order_relaxed)) {
      peak_.store(before + 1, std::memory_order_relaxed);  // two at once may miss by one
    }
    return true;
  }
  // Any thread. A crowd has left when three of four, of 64 or more, are gone.
  void leave() noexcept {
    const std::uint32_t now = open_.fetch_sub(1, std::memory_order_relaxed) - 1;
    const std::uint32_t peak = peak_.load(std::memory_order_relaxed);
    if (peak < crowd || now > peak / 4) return;
    peak_.store(now, std::memory_order_relaxed);
    if (on_crowd_left) on_crowd_left();
  }
  [[nodiscard]] std::uint32_t open() const noexcept {
    return open_.load(std::memory_order_relaxed);
  }

  // Set before the first thread starts.
  std::vector<serving_shard*> shards;
  std::function<void()> on_crowd_left;  // on the thread of the last to leave

 private:
  static constexpr std::uint32_t crowd = 64;

  std::atomic<std::uint32_t> open_{0};
  std::atomic<std::uint32_t> peak_{0};
  std::uint32_t capacity_;
};

class serving_shard {
 public:
  struct plan {
    unsigned index = 0;
    const runtime::clock* time = nullptr;
    connection_settings settings;
    std::string server_name;
    admission* admissions = nullptr;
    std::unique_ptr<dispatcher> handlers;
    std::shared_ptr<const tls::context> tls;  // null when nothing here speaks TLS
  };
  explicit serving_shard(plan p);
  virtual ~serving_shard();
  serving_shard(const serving_shard&) = delete;
  serving_shard& operator=(const serving_shard&) = delete;

  // -- the server's thread

  // Before start(). `secure`: the socket speaks TLS.
  void listen(runtime::unique_fd socket, bool secure);
  void start();
  // Stops accepting and drains; `done` is called on the shard when no connection is left, or when
  // `limit` is over and the rest was cut off.
  void drain(runtime::milliseconds limit, std::function<void()> done);
  void stop_and_join();
  // Gives up at `until`, detaching the thread: false when it never came back from a handler.
  [[nodiscard]] bool stop_until(std::chrono::steady_clock::time_point until);
  void publish(std::shared_ptr<const tls::context> context);

  // -- any thread

  [[nodiscard]] runtime::shard& loop() noexcept { return loop_; }
  [[nodiscard]] const shard_counters& counters() const noexcept { return env_.counters; }
  [[nodiscard]] std::uint32_t open() const noexcept {
    return open_.load(std::memory_order_relaxed);
  }
  // A drain ran out of time and cut connections off.
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_.load(std::memory_order_relaxed); }

 protected:
  struct arrival {
    runtime::unique_fd socket;
    runtime::peer_address peer;
    bool secure = false;
  };

  // -- the shard's thread

  virtual void on_start() {}
  virtual void open_connection(arrival a) = 0;
  // Ends idle connections now and the others after their requests.
  virtual void drain_connections() = 0;
  virtual void abort_connections() = 0;
  // Each connection's end passes here once.
  void connection_over() noexcept;

  runtime::shard loop_;
  std::unique_ptr<dispatcher> handlers_;
  environment env_;

 private:
  void arrive(arrival a);
  void take(arrival a);
  void refuse(arrival a) noexcept;
  [[nodiscard]] serving_shard& least_loaded() noexcept;

  admission& admissions_;
  std::atomic<std::uint32_t> open_{0};
  std::vector<std::unique_ptr<runtime::listener>> listeners_;
  void drain_expired() noexcept;

  runtime::timer drain_timer_;
  std::atomic<bool> cut_off_{false};
  std::promise<void> returned_;
  std::function<void()> drained_;
  std::thread thread_;
};

}  // namespace bulkhead::actors
