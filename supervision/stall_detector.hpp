// Whether a shard is stuck: its pulse has not moved for a while, and it is not asleep.
//
// Pure: pulses and time come from outside. One a shard.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/runtime/heartbeat.hpp>

#include <cstdint>
#include <optional>

namespace bulkhead::supervision {

class stall_detector {
 public:
  explicit stall_detector(runtime::milliseconds threshold)
      : threshold_(threshold), report_at_(threshold) {}

  struct stall {
    runtime::milliseconds held{0};  // at least
    bool first = false;        // of this stall: one is said again when it lasts ten times longer
    bool say = false;          // or only count it: one was said less than `pause` ago
    std::uint64_t unsaid = 0;  // since the last that was said
  };
  // A handler that is a little too slow stalls its shard at each request: more reports than these
  // would only push other faults out of the ledger.
  static constexpr std::chrono::seconds pause{1};

  // To be called every half threshold while the shard is awake. `starved`: how long its thread has
  // waited for a processor so far, in all. A stall that is to be reported now.
  [[nodiscard]] std::optional<stall> look(std::uint64_t pulse, runtime::steady_time now,
                                          std::chrono::nanoseconds starved = {}) noexcept;
  [[nodiscard]] std::uint64_t last_pulse() const noexcept { return pulse_; }

 private:
  runtime::milliseconds threshold_;
  std::chrono::nanoseconds report_at_;
  std::chrono::nanoseconds held_{0};
  std::chrono::nanoseconds starved_{0};
  runtime::steady_time looked_{};
  runtime::steady_time said_{};
  std::uint64_t unsaid_ = 0;
  std::uint64_t pulse_ = 0;
};

}  // namespace bulkhead::supervision
