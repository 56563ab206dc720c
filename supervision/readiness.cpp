#include <bulkhead/supervision/readiness.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::supervision {

void readiness::raise(std::string_view reason) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(reasons_.begin(), reasons_.end(), reason) != reasons_.end()) return;
    reasons_.emplace_back(reason);
  }
  if (told_) told_();
}

void readiness::clear(std::string_view reason) {
  {
    const std::lock_guard lock(mutex_);
    const auto held = std::find(reasons_.begin(), reasons_.end(), reason);
    if (held == reasons_.end()) return;
    reasons_.erase(held);
  }
  if (told_) told_();
}

bool readiness::ready() const {
  const std::lock_guard lock(mutex_);
  return reasons_.empty();
}

std::vector<std::string> readiness::reasons() const {
  const std::lock_guard lock(mutex_);
  return reasons_;
}

void readiness::on_change(std::function<void()> told) {
  told_ = std::move(told);
}

}  // namespace bulkhead::supervision
