// Where time comes from. A shard reads it once a turn; tests move it by hand.
#pragma once

#include <chrono>

namespace bulkhead::runtime {

using steady_time = std::chrono::steady_clock::time_point;
using wall_time = std::chrono::system_clock::time_point;
using std::chrono::milliseconds;
using std::chrono::seconds;

class clock {
 public:
  virtual ~clock() = default;
  [[nodiscard]] virtual steady_time now() const noexcept = 0;
  [[nodiscard]] virtual wall_time wall() const noexcept = 0;
};

// The machine's clocks. Any thread.
class system_clock final : public clock {
 public:
  [[nodiscard]] steady_time now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  [[nodiscard]] wall_time wall() const noexcept override {
    return std::chrono::system_clock::now();
  }
};

// Stands still until advanced. For tests; one thread.
class virtual_clock final : public clock {
 public:
  [[nodiscard]] steady_time now() const noexcept override { return now_; }
  [[nodiscard]] wall_time wall() const noexcept override { return wall_; }
  void advance(milliseconds by) noexcept {
    now_ += by;
    wall_ += by;
  }

 private:
  steady_time now_{std::chrono::hours(1)};
  wall_time wall_{std::chrono::seconds(1'700'000'000)};
};

}  // namespace bulkhead::runtime
