#include <bulkhead/supervision/stall_detector.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::supervision {

std::optional<stall_detector::stall> stall_detector::look(
    std::uint64_t pulse, runtime::steady_time now, std::chrono::nanoseconds starved) noexcept {
  using std::chrono::nanoseconds;
  const nanoseconds since = now - std::exchange(looked_, now);
  const nanoseconds without = starved - std::exchange(starved_, starved);
  if (pulse != std::exchange(pulse_, pulse)) {
    held_ = {};
    report_at_ = threshold_;
    return std::nullopt;
  }
  if (!runtime::heartbeat::awake(pulse)) return std::nullopt;
  // Who looks may have been held up itself, like everyone on this machine: that is no stall.
  constexpr nanoseconds slack = runtime::milliseconds(1);
  const nanoseconds most = nanoseconds(threshold_) / 2 + slack;
  held_ += std::clamp(since - without, nanoseconds(0), most);
  if (held_ < report_at_) return std::nullopt;
  stall found{.held = std::chrono::duration_cast<runtime::milliseconds>(held_),
              .first = report_at_ == threshold_};
  report_at_ *= 10;
  found.say = !found.first || now - said_ >= pause;
  if (found.say) {
    said_ = now;
    found.unsaid = std::exchange(unsaid_, 0);
  } else {
    ++unsaid_;
  }
  return found;
}

}  // namespace bulkhead::supervision
