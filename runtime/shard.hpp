// A shard: one thread's event loop, with its timers, buffers, sockets and run queue.
//
// Everything that a shard owns is touched by its thread alone; other threads reach it through
// schedule(), post() and stop(), which cost one wake-up a sleep, not one a message.
#pragma once

#include <bulkhead/runtime/buffer_pool.hpp>
#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/runtime/heartbeat.hpp>
#include <bulkhead/runtime/timer_wheel.hpp>
#include <bulkhead/runtime/transport.hpp>
#include <bulkhead/runtime/unique_fd.hpp>

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace bulkhead::runtime {

class shard;

class runnable;

// Where a shard chains what it is to run.
class run_link {
  friend class shard;
  runnable* next_ = nullptr;
};

// Something to run once on a shard. Its owner queues it at most once at a time, so neither the
// run queue nor the inbox ever allocates; run() may queue it again, for the next turn, or destroy
// it.
class runnable : public run_link {
 public:
  virtual void run(shard& on) noexcept = 0;

 protected:
  ~runnable() = default;
};

// A descriptor in the loop. The loop may still hold an event for it when it is given up, so it is
// destroyed only after the batch: see shard::bury().
class io_source {
 public:
  virtual ~io_source() = default;
  // `events`: EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLRDHUP.
  virtual void on_ready(std::uint32_t events) noexcept = 0;
};

// Work that arrives in memory, where epoll does not see it: rings shared with other processes.
class turn_hook {
 public:
  // After everything else of a turn.
  virtual void at_turn_end() noexcept = 0;
  // Before the shard blocks: asks the other side to write a watched descriptor from now on, and
  // answers whether there is still nothing to do.
  [[nodiscard]] virtual bool may_sleep() noexcept = 0;

 protected:
  ~turn_hook() = default;
};

class shard {
 public:
  // `index` is for names and logs. Throws std::system_error when the kernel gives no descriptor.
  shard(unsigned index, const clock& time);
  ~shard();
  shard(const shard&) = delete;
  shard& operator=(const shard&) = delete;

  // The shard whose loop runs on this thread; null elsewhere.
  [[nodiscard]] static shard* current() noexcept;
  [[nodiscard]] unsigned index() const noexcept { return index_; }

  // -- the loop -----------------------------------------------------------------------------------

  // Runs until stop(), then drains the run queue and the inbox: not timers and sockets. Blocks the
  // calling thread. What is scheduled after that stays queued and is never run.
  void run();
  // One turn: inbox, sockets, timers, run queue (each once), burials. `may_block`: sleep until
  // there is something to do. For run() and for tests, whose thread it makes the shard's for that
  // turn.
  void turn(bool may_block);

  // -- any thread ---------------------------------------------------------------------------------

  void schedule(runnable& r) noexcept;
  // Runs `f` on the shard, in order with other posts of the same thread. Allocates: for control,
  // not for requests. An `f` that was posted after the loop ended is destroyed unrun.
  void post(std::function<void()> f);
  void stop() noexcept;
  // Eventfd writes so far. Tests prove with it that a burst of messages costs one wake-up.
  [[nodiscard]] std::uint64_t wake_ups() const noexcept;

  // -- the shard's own thread ---------------------------------------------------------------------

  [[nodiscard]] steady_time now() const noexcept { return now_; }  // as of this turn
  [[nodiscard]] const clock& time() const noexcept { return time_; }
  [[nodiscard]] heartbeat& heart() noexcept { return heart_; }
  [[nodiscard]] timer_wheel& timers() noexcept { return timers_; }
  [[nodiscard]] buffer_pool& buffers() noexcept { return buffers_; }

  // Level-triggered. False (errno set) when the kernel refuses.
  [[nodiscard]] bool watch(int fd, std::uint32_t events, io_source& source) noexcept;
  void rewatch(int fd, std::uint32_t events, io_source& source) noexcept;
  // Needed before close() when another descriptor, or a child process between fork() and exec(),
  // may still hold the same socket: the kernel would go on reporting it.
  void unwatch(int fd) noexcept;

  // From now on; not from within a hook. It must be removed before it is destroyed, unless the loop
  // has ended.
  void add_hook(turn_hook& h) { hooks_.push_back(&h); }
  void remove_hook(turn_hook& h) noexcept { std::erase(hooks_, &h); }

  // Destroys `source` after the batch of events that is being handled.
  void bury(std::unique_ptr<io_source> source);
  // Calls release(object) after the batch: for objects whose lifetime is counted elsewhere.
  void bury(void (*release)(void* object) noexcept, void* object);

  // A transport over a connected, non-blocking stream socket. Events go to `events`, from the
  // next turn on. Null (errno set) when the kernel refuses.
  [[nodiscard]] transport_ptr adopt(unique_fd socket, transport_events& events);

  // Where transports of this shard read into; valid until the next read.
  [[nodiscard]] std::span<std::byte> receive_buffer() noexcept;

 private:
  struct inbox;  // what other threads touch, on its own cache lines
  struct burial {
    void (*release)(void*) noexcept;
    void* object;
  };
  static constexpr int batch = 256;
  static constexpr std::size_t receive_size = 64 * 1024;

  [[nodiscard]] int sleep_limit() const noexcept;  // milliseconds for epoll_wait
  void push_local(runnable& r) noexcept;
  void take_inbox() noexcept;
  void run_queue() noexcept;
  void hold_burials() noexcept;
  void drain() noexcept;
  void wake() noexcept;

  unsigned index_;
  const clock& time_;
  steady_time now_;
  timer_wheel timers_;
  buffer_pool buffers_;
  unique_fd epoll_;
  unique_fd wake_;
  runnable* head_ = nullptr;
  runnable* tail_ = nullptr;
  std::vector<burial> graveyard_;
  std::vector<turn_hook*> hooks_;
  std::unique_ptr<std::byte[]> receive_buffer_;
  std::array<epoll_event, batch> events_{};
  std::unique_ptr<inbox> inbox_;
  heartbeat heart_;
};

}  // namespace bulkhead::runtime
