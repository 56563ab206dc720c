// Whether a child may be restarted now: intensity over a sliding period, then back-off.
//
// Pure: time and chance come from outside. One child's own window, so that no sibling's faults
// count against it.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/child_spec.hpp>

#include <deque>
#include <functional>

namespace bulkhead::supervision {

class restart_window {
 public:
  // `chance` gives numbers in [0, 1): for the jitter.
  restart_window(restart_intensity intensity, restart_backoff backoff,
                 std::function<double()> chance);

  struct decision {
    bool restart_now = false;
    std::chrono::milliseconds wait{0};  // if not: until the next attempt
  };
  // A fault at `now`. Within the intensity: restart at once. Beyond: wait, longer each time, until
  // a whole period after the last wait has passed without a fault.
  [[nodiscard]] decision fault(runtime::steady_time now);
  // A fault of what was tried after a wait: waits, and longer, however long ago the last one was.
  [[nodiscard]] decision failed_again(runtime::steady_time now);
  // What was tried after a wait has worked: the period of good conduct begins now.
  void worked(runtime::steady_time now) noexcept;

  [[nodiscard]] std::size_t restarts_in_period() const noexcept { return restarts_.size(); }
  [[nodiscard]] std::uint32_t consecutive_waits() const noexcept { return waits_; }

 private:
  restart_intensity intensity_;
  restart_backoff backoff_;
  std::function<double()> chance_;
  std::deque<runtime::steady_time> restarts_;  // at most intensity_.restarts of them
  std::uint32_t waits_ = 0;
  runtime::steady_time forgotten_at_{};  // the waits, if there was no fault until then
};

}  // namespace bulkhead::supervision
