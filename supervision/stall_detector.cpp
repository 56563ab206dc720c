#include <bulkhead/supervision/stall_detector.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::supervision {

std::optional<stall_detector::stall> stall_detector::look(std::uint64_t pulse,
                                                          runtime::steady_time now) noexcept {
  const auto since = now - std::exchange(looked_, now);
  if (pulse != std::exchange(pulse_, pulse)) {
    held_ = {};
    report_at_ = threshold_;
    return std::nullopt;
  }
  if (!runtime::heartbeat::awake(pulse)) return std::nullopt;
  // Who looks may have been held up itself, like everyone on this machine: that is no stall.
  constexpr std::chrono::nanoseconds slack = runtime::milliseconds(1);
  held_ += std::min(since, std::chrono::nanoseconds(threshold_) / 2 + slack);
  if (held_ < report_at_) return std::nullopt;
  const bool first = report_at_ == threshold_;
  report_at_ *= 10;
  return stall{std::chrono::duration_cast<runtime::milliseconds>(held_), first};
}

}  // namespace bulkhead::supervision
