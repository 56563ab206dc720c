#include <bulkhead/runtime/timer_wheel.hpp>

#include <bit>

namespace bulkhead::runtime {

namespace {
constexpr milliseconds ticks(std::uint64_t n) noexcept {
  return milliseconds(static_cast<milliseconds::rep>(n));
}
}  // namespace

// -- timer ----------------------------------------------------------------------------------------

void timer::cancel() noexcept {
  if (wheel_ == nullptr) return;
  wheel_->unlink(*this);
  --wheel_->armed_;
  wheel_ = nullptr;
}

// -- lists ----------------------------------------------------------------------------------------

void timer_wheel::push(timer*& head, timer& t) noexcept {
  t.next_ = head;
  t.link_ = &head;
  if (head != nullptr) head->link_ = &t.next_;
  head = &t;
}

void timer_wheel::detach(timer*& head, timer*& into) noexcept {
  into = head;
  head = nullptr;
  if (into != nullptr) into->link_ = &into;
}

void timer_wheel::unlink(timer& t) noexcept {
  *t.link_ = t.next_;
  if (t.next_ != nullptr) {
    t.next_->link_ = t.link_;
    return;
  }
  // The last of a list. If the list is a slot of the wheel, the slot may be empty now; it is some
  // other list, or another timer's link, when the difference falls outside the wheel.
  const auto at = reinterpret_cast<std::uintptr_t>(t.link_);
  const auto base = reinterpret_cast<std::uintptr_t>(wheel_.data());
  if (at < base || at >= base + sizeof wheel_) return;
  const auto index = (at - base) / sizeof(timer*);
  occupied_[index / slots] &= ~(std::uint64_t{1} << (index % slots));
}

// -- filing ---------------------------------------------------------------------------------------

std::uint64_t timer_wheel::floor_tick(steady_time at) const noexcept {
  if (at <= start_) return 0;
  return static_cast<std::uint64_t>(std::chrono::floor<milliseconds>(at - start_).count());
}

// The level is that of the highest group of six bits in which the timer's tick differs from the
// present: then slots of one level never overlap in time with those of another.
void timer_wheel::file(timer& t) noexcept {
  const std::uint64_t differs = t.tick_ ^ now_tick_;
  unsigned level = differs == 0 ? 0 : (static_cast<unsigned>(std::bit_width(differs)) - 1) / bits;
  std::uint64_t index = t.tick_ >> (bits * level);
  if (level >= levels - 1) {
    level = levels - 1;
    index = t.tick_ >> (bits * level);
    const std::uint64_t present = now_tick_ >> (bits * level);
    // Beyond the horizon: the slot that comes last, from which it is filed again.
    if (index - present >= slots) index = present + slots - 1;
  }
  const auto slot = static_cast<unsigned>(index % slots);
  push(wheel_[level * slots + slot], t);
  occupied_[level] |= std::uint64_t{1} << slot;
}

void timer_wheel::arm(timer& t, steady_time when) noexcept {
  std::uint64_t tick = floor_tick(when);
  if (start_ + ticks(tick) < when) ++tick;
  if (t.wheel_ != nullptr) {
    if (t.wheel_ == this && t.tick_ == tick && tick > target_tick_) return;
    t.cancel();
  }
  t.wheel_ = this;
  t.tick_ = tick;
  ++armed_;
  if (tick <= target_tick_) {
    push(overdue_, t);
  } else {
    file(t);
  }
}

// -- time -----------------------------------------------------------------------------------------

std::optional<timer_wheel::place> timer_wheel::first() const noexcept {
  // Lower levels hold the group of slots that the present is in: all that is there comes before
  // all that is higher.
  for (unsigned level = 0; level < levels - 1; ++level) {
    if (occupied_[level] == 0) continue;
    const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    const std::uint64_t group = now_tick_ >> (bits * (level + 1));
    return place{level, slot, ((group << bits) | slot) << (bits * level)};
  }
  constexpr unsigned last = levels - 1;
  if (occupied_[last] == 0) return std::nullopt;
  const std::uint64_t present = now_tick_ >> (bits * last);
  const auto ahead = static_cast<unsigned>(
      std::countr_zero(std::rotr(occupied_[last], static_cast<int>(present % slots))));
  const std::uint64_t index = present + ahead;
  return place{last, static_cast<unsigned>(index % slots), index << (bits * last)};
}

void timer_wheel::expire(timer*& due) noexcept {
  while (due != nullptr) {
    timer& t = *due;
    t.cancel();
    t.on_expired_(t.owner_);  // `t` may be gone now, and any other timer of the list
  }
}

void timer_wheel::advance(steady_time now) noexcept {
  const std::uint64_t tick = floor_tick(now);
  if (tick > target_tick_) target_tick_ = tick;
  if (armed_ != 0) {
    timer* due = nullptr;
    detach(overdue_, due);
    expire(due);
    for (auto at = first(); at && at->tick <= target_tick_; at = first()) {
      now_tick_ = at->tick;
      detach(wheel_[at->level * slots + at->slot], due);
      occupied_[at->level] &= ~(std::uint64_t{1} << at->slot);
      if (at->level == 0) {
        expire(due);
        continue;
      }
      while (due != nullptr) {
        timer& t = *due;
        unlink(t);
        file(t);
      }
    }
  }
  now_tick_ = target_tick_;
}

std::optional<steady_time> timer_wheel::next() const noexcept {
  if (overdue_ != nullptr) return start_ + ticks(now_tick_);
  if (const auto at = first()) return start_ + ticks(at->tick);
  return std::nullopt;
}

void timer_wheel::disarm_all(timer*& head) noexcept {
  while (head != nullptr) head->cancel();
}

timer_wheel::~timer_wheel() {
  disarm_all(overdue_);
  for (timer*& slot : wheel_) disarm_all(slot);
}

}  // namespace bulkhead::runtime
