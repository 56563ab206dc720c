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
  if (now >= forgotten_at_) waits_ = 0;
  while (!restarts_.empty() && now - restarts_.front() >= intensity_.period) restarts_.pop_front();

  if (waits_ == 0 && restarts_.size() < intensity_.restarts) {
    restarts_.push_back(now);
    return {.restart_now = true};
  }
  return failed_again(now);
}

restart_window::decision restart_window::failed_again(runtime::steady_time now) {
  const double base = static_cast<double>(backoff_.initial.count()) *
                      std::pow(backoff_.factor, static_cast<double>(std::min(waits_, 64U)));
  const double capped = std::min(base, static_cast<double>(backoff_.cap.count()));
  const double varied = capped * (1.0 + backoff_.jitter * (2.0 * chance_() - 1.0));
  ++waits_;
  const std::chrono::milliseconds wait(std::max(1L, std::lround(varied)));
  forgotten_at_ = now + wait + intensity_.period;
  return {.restart_now = false, .wait = wait};
}

void restart_window::worked(runtime::steady_time now) noexcept {
  forgotten_at_ = now + intensity_.period;
}

}  // namespace bulkhead::supervision
