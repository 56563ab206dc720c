#include <bulkhead/supervision/restart_window.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bulkhead::supervision {

restart_window::restart_window(restart_intensity intensity, restart_backoff backoff,
                               std::function<double()> chance)
    : intensity_(intensity), backoff_(backoff), chance_(std::move(chance)) {}

restart_window::decision restart_window::fault(runtime::steady_time now) {
  // Good conduct, a whole period from the end of the last wait, forgets the back-off.
  if (waits_ != 0 && now >= last_fault_ + last_wait_ + intensity_.period) waits_ = 0;
  last_fault_ = now;
  while (!restarts_.empty() && now - restarts_.front() >= intensity_.period) restarts_.pop_front();

  if (waits_ == 0 && restarts_.size() < intensity_.restarts) {
    restarts_.push_back(now);
    return {.restart_now = true};
  }
  const double base = static_cast<double>(backoff_.initial.count()) *
                      std::pow(backoff_.factor, static_cast<double>(std::min(waits_, 64U)));
  const double capped = std::min(base, static_cast<double>(backoff_.cap.count()));
  const double varied = capped * (1.0 + backoff_.jitter * (2.0 * chance_() - 1.0));
  ++waits_;
  last_wait_ = std::chrono::milliseconds(std::max(1L, std::lround(varied)));
  return {.restart_now = false, .wait = last_wait_};
}

}  // namespace bulkhead::supervision
