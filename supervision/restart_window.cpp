#include <bulkhead/supervision/restart_window.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bulkhead::supervision {

restart_window::restart_window(restart_intensity intensity, restart_backoff backoff,
                               std::function<double()> chance)
    : intensity_(intensity), backoff_(backoff), chance_(std::move(chance)) {}

restart_window::decision restart_window::fault(runtime::steady_time now) {
  while (!restarts_.empty() && now - restarts_.front() >= intensity_.period) restarts_.pop_front();
  // Good conduct: a whole period (and the wait itself) without a fault forgets the back-off.
  if (waits_ != 0 && now - last_fault_ >= intensity_.period + backoff_.cap) waits_ = 0;
  last_fault_ = now;

  if (restarts_.size() < intensity_.restarts) {
    restarts_.push_back(now);
    waits_ = 0;
    return {.restart_now = true};
  }
  const double base = static_cast<double>(backoff_.initial.count()) *
                      std::pow(backoff_.factor, static_cast<double>(std::min(waits_, 64U)));
  const double capped = std::min(base, static_cast<double>(backoff_.cap.count()));
  const double varied = capped * (1.0 + backoff_.jitter * (2.0 * chance_() - 1.0));
  ++waits_;
  return {.restart_now = false,
          .wait = std::chrono::milliseconds(std::max(1L, std::lround(varied)))};
}

}  // namespace bulkhead::supervision
