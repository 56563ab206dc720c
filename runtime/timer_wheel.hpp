// A hierarchical timing wheel with millisecond ticks; arming and cancelling cost O(1).
//
// Lives on one shard. Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987.
#pragma once

#include <bulkhead/runtime/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace bulkhead::runtime {

class timer_wheel;

// One deadline of its owner, which holds it as a member. Destroying it cancels it.
class timer {
 public:
  using callback = void (*)(void* owner) noexcept;

  timer(callback on_expired, void* owner) noexcept : on_expired_(on_expired), owner_(owner) {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() { cancel(); }

  [[nodiscard]] bool armed() const noexcept { return wheel_ != nullptr; }
  void cancel() noexcept;

 private:
  friend class timer_wheel;
  timer* next_ = nullptr;
  timer** link_ = nullptr;  // what points at this node
  timer_wheel* wheel_ = nullptr;
  std::uint64_t tick_ = 0;
  callback on_expired_;
  void* owner_;
};

class timer_wheel {
 public:
  explicit timer_wheel(steady_time start) noexcept : start_(start) {}
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;
  ~timer_wheel();  // disarms what is still armed

  // Never early: `when` is rounded up to a tick. An armed timer is moved. A time in the past
  // expires at the next advance(); inside a callback that is never the running one, so a timer
  // that re-arms itself cannot hold the loop. What is further than 4.6 hours away is re-filed then.
  void arm(timer& t, steady_time when) noexcept;

  // Runs the callback of each timer that is due at `now`, tick by tick; within a tick the order is
  // not defined. Callbacks may arm and cancel any timer and destroy their owners. Costs nothing for
  // empty slots, however far `now` jumps.
  void advance(steady_time now) noexcept;

  // No timer expires before this; empty when none is armed. Who sleeps until then and advances,
  // again and again, meets every timer after at most one sleep a level.
  [[nodiscard]] std::optional<steady_time> next() const noexcept;

  [[nodiscard]] std::size_t armed() const noexcept { return armed_; }

 private:
  friend class timer;
  static constexpr unsigned bits = 6;
  static constexpr unsigned slots = 1U << bits;
  static constexpr unsigned levels = 4;
  // The first occupied slot at or after now_tick_, and the tick at which it begins.
  struct place {
    unsigned level;
    unsigned slot;
    std::uint64_t tick;
  };

  [[nodiscard]] std::uint64_t floor_tick(steady_time at) const noexcept;
  [[nodiscard]] std::optional<place> first() const noexcept;
  void file(timer& t) noexcept;
  void unlink(timer& t) noexcept;
  static void push(timer*& head, timer& t) noexcept;
  // Empties the list at `head` into `into`, whose address must not change.
  static void detach(timer*& head, timer*& into) noexcept;
  void expire(timer*& due) noexcept;
  void disarm_all(timer*& head) noexcept;

  steady_time start_;
  std::uint64_t now_tick_ = 0;     // every timer of an earlier tick has expired
  std::uint64_t target_tick_ = 0;  // where the running advance() goes; else now_tick_
  std::size_t armed_ = 0;
  // A level's slots are those of the group of 64 that now_tick_ is in, so the first occupied one
  // is a bit scan away; only the last level wraps around.
  std::array<timer*, levels * slots> wheel_{};
  std::array<std::uint64_t, levels> occupied_{};  // a bit a slot
  timer* overdue_ = nullptr;                      // armed for the past
};

}  // namespace bulkhead::runtime
