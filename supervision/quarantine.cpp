#include <bulkhead/supervision/quarantine.hpp>

#include <algorithm>
#include <limits>

namespace bulkhead::supervision {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
// Slots of probes that nothing is heard of grow up to this, or to the wait if that is longer.
constexpr std::chrono::milliseconds longest_slot = std::chrono::minutes(5);

}  // namespace

std::string_view to_string(route_state s) noexcept {
  switch (s) {
    case route_state::in_service:
      return "in_service";
    case route_state::backing_off:
      return "backing_off";
    case route_state::probing:
      return "probing";
    case route_state::stopped:
      return "stopped";
  }
  return "unknown";
}

route_state quarantine::state(runtime::steady_time now) const noexcept {
  if (in_service()) return route_state::in_service;
  const auto wait = refuses(now);
  if (wait == for_good) return route_state::stopped;
  return wait && probing() ? route_state::probing : route_state::backing_off;
}

std::optional<std::chrono::milliseconds> quarantine::refuses(
    runtime::steady_time now) const noexcept {
  const std::int64_t until = refused_until_.load(std::memory_order_relaxed);
  if (until == 0) return std::nullopt;
  if (until == never) return for_good;
  const auto left = std::chrono::nanoseconds(until) - now.time_since_epoch();
  if (left <= std::chrono::nanoseconds::zero()) return std::nullopt;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left);
  return probing() ? std::min(ms, soon) : ms;
}

admission quarantine::enter(std::uint64_t request, runtime::steady_time now) noexcept {
  if (in_service()) return {};
  if (const auto wait = refuses(now)) return {admission::kind::refuse, *wait};
  slot_ = count_ == 0 ? wait_ : std::max(wait_, std::min(slot_ * 2, longest_slot));
  probes_[std::min(count_, probes_.size() - 1)] = request;
  count_ = std::min(count_ + 1, probes_.size());
  probing_.store(true, std::memory_order_relaxed);
  refuse_until(now + slot_);
  return {admission::kind::probe};
}

bool quarantine::is_probe(std::uint64_t request) const noexcept {
  const auto* end = probes_.begin() + count_;
  return std::find(probes_.begin(), end, request) != end;
}

bool quarantine::succeeded(std::uint64_t request) noexcept {
  if (!is_probe(request)) return false;
  forget_probes();
  refused_until_.store(0, std::memory_order_relaxed);
  return true;
}

void quarantine::give_back(std::uint64_t request, runtime::steady_time now) noexcept {
  auto* const end = probes_.begin() + count_;
  auto* const left = std::remove(probes_.begin(), end, request);
  if (left == end) return;
  --count_;
  if (count_ == 0) forget_probes();
  refuse_until(now);
}

void quarantine::close(std::chrono::milliseconds wait, runtime::steady_time now) noexcept {
  forget_probes();
  wait_ = wait;
  refuse_until(now + wait);
}

void quarantine::close_for_good() noexcept {
  forget_probes();
  refused_until_.store(never, std::memory_order_relaxed);
}

void quarantine::refuse_until(runtime::steady_time t) noexcept {
  refused_until_.store(std::chrono::nanoseconds(t.time_since_epoch()).count(),
                       std::memory_order_relaxed);
}

void quarantine::forget_probes() noexcept {
  count_ = 0;
  probing_.store(false, std::memory_order_relaxed);
}

}  // namespace bulkhead::supervision
