#include <bulkhead/supervision/thread_budget.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::supervision {

thread_budget::thread_budget(std::uint32_t limit, std::function<void(bool exhausted)> on_change)
    : limit_(std::max(1U, limit)), on_change_(std::move(on_change)) {}

bool thread_budget::take() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = taken();
  if (before >= limit_) return false;
  taken_.store(before + 1, std::memory_order_relaxed);
  if (before + 1 == limit_ && on_change_) on_change_(true);
  return true;
}

void thread_budget::give_back() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = taken();
  taken_.store(before - 1, std::memory_order_relaxed);
  if (before == limit_ && on_change_) on_change_(false);
}

}  // namespace bulkhead::supervision
