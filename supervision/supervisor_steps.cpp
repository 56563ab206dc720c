// What a supervisor does next: one order at a time, as its strategy has it.
#include <bulkhead/supervision/supervisor.hpp>

#include <algorithm>

namespace bulkhead::supervision {

void supervisor::proceed() {
  if (std::exchange(busy_, true)) return;
  while (step()) {
  }
  busy_ = false;
}

// One order or one announcement; false when there is nothing to do before the next event.
bool supervisor::step() {
  if (stop_next()) return true;
  if (phase_ == phase::running) {
    if (const auto n = next_to_start()) {
      order_start(*n, *find(*n));
      return true;
    }
    if (!announced_ && pending_ == 0) {
      announced_ = true;
      orders_.supervisor_started();
      return true;
    }
    return false;
  }
  if (phase_ == phase::ended || alive_ != 0) return false;
  const auto how = phase_ == phase::failing ? exit_reason::fault : exit_reason::shutdown;
  phase_ = phase::ended;
  orders_.supervisor_ended(how);
  return true;
}

bool supervisor::stop_next() {
  const auto can_be_stopped = [](const child& c) {
    return c.doomed && (c.state == child_state::starting || c.state == child_state::running);
  };
  if (dynamic()) {
    while (!to_stop_.empty()) {
      const child_number n = to_stop_.back();
      to_stop_.pop_back();
      child* c = find(n);
      if (c == nullptr || !can_be_stopped(*c)) continue;
      order_stop(n, *c);
      return true;
    }
    return false;
  }
  const auto last = std::find_if(children_.rbegin(), children_.rend(),
                                 [](const auto& entry) { return entry.second.doomed; });
  if (last == children_.rend() || !can_be_stopped(last->second)) return false;
  order_stop(last->first, last->second);
  return true;
}

std::optional<child_number> supervisor::next_to_start() {
  if (dynamic()) {
    while (!to_start_.empty()) {
      const child_number n = to_start_.front();
      to_start_.pop_front();
      const child* c = find(n);
      if (c != nullptr && c->wanted && c->state == child_state::down && !c->due) return n;
    }
    return std::nullopt;
  }
  const bool alone = flags_.strategy == strategy::one_for_one;
  const bool together = flags_.strategy == strategy::one_for_all;
  // What depends on each other is stopped before any of it is started, and waits together.
  for (const auto& [n, c] : children_) {
    if (c.doomed && !alone) return std::nullopt;
    if (together && c.state == child_state::down && c.due) return std::nullopt;
  }
  bool earlier_unanswered = false;
  for (const auto& [n, c] : children_) {
    const bool ready = c.wanted && c.state == child_state::down && !c.due;
    if (ready && !earlier_unanswered) return n;
    earlier_unanswered |= c.first;
    if (!alone && c.wanted && c.state != child_state::running) return std::nullopt;
  }
  return std::nullopt;
}

void supervisor::order_start(child_number n, child& c) {
  c.state = child_state::starting;
  ++c.starts;
  ++alive_;
  orders_.start_child(n);
}

void supervisor::order_stop(child_number n, child& c) {
  if (c.spec->shutdown == brutal_kill) return order_kill(n, c);
  c.state = child_state::stopping;
  if (c.spec->shutdown != infinity) set_due(n, c, now_ + c.spec->shutdown);
  orders_.stop_child(n);
}

void supervisor::order_kill(child_number n, child& c) {
  set_due(n, c, std::nullopt);
  c.state = child_state::killing;
  orders_.kill_child(n);
}

}  // namespace bulkhead::supervision
