#include <bulkhead/supervision/pulse.hpp>

namespace bulkhead::supervision {

pulse::pulse(runtime::shard& loop, runtime::milliseconds limit)
    : loop_(loop), limit_(limit), answered_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

void pulse::begin() noexcept {
  begun_.store(true, std::memory_order_relaxed);
}

bool pulse::beats() {
  if (!begun_.load(std::memory_order_relaxed)) return true;
  const runtime::steady_time now = loop_.time().now();
  if (answered_->load(std::memory_order_relaxed) != asked_) return now - asked_at_ <= limit_;
  asked_at_ = now;
  loop_.post(
      [answered = answered_, n = ++asked_] { answered->store(n, std::memory_order_relaxed); });
  return true;
}

}  // namespace bulkhead::supervision
