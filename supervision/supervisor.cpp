#include <bulkhead/supervision/supervisor.hpp>

#include <algorithm>

namespace bulkhead::supervision {

namespace {

// Of the supervisor's own window only "one too many" counts: whoever restarts it waits.
restart_window own_window(const supervisor_flags& f) {
  return {f.intensity, {}, [] { return 0.5; }};
}

bool is_restarted(restart_type r, exit_reason how) noexcept {
  return r == restart_type::permanent ||
         (r == restart_type::transient && how == exit_reason::fault);
}

}  // namespace

// Each order may be answered at once, from inside: the answer changes the state, and what follows
// from it is ordered by the outermost call only.
template <class Body>
void supervisor::giving_orders(Body body) {
  const bool inside = std::exchange(busy_, true);
  body();
  busy_ = inside;
  proceed();
}

supervisor::supervisor(supervisor_flags flags, std::vector<child_spec> children,
                       supervisor_orders& orders, std::function<double()> chance)
    : flags_(flags),
      specs_(std::move(children)),
      orders_(orders),
      chance_(std::move(chance)),
      restarts_(own_window(flags_)) {}

// -- the supervisor's own life --------------------------------------------------------------------

void supervisor::start(runtime::steady_time now) {
  if (phase_ != phase::ended) return;
  now_ = now;
  phase_ = phase::running;
  announced_ = false;
  restarts_ = own_window(flags_);
  children_.clear();
  if (!dynamic()) {
    for (const child_spec& s : specs_) add(children_.size(), s, /*first=*/true);
  }
  pending_ = children_.size();
  proceed();
}

void supervisor::stop(runtime::steady_time now) {
  if (phase_ == phase::ended || phase_ == phase::stopping) return;
  now_ = now;
  end_all(phase::stopping);
  proceed();
}

void supervisor::kill(runtime::steady_time now) {
  if (phase_ == phase::ended) return;
  now_ = now;
  end_all(phase::stopping);
  std::vector<child_number> all;
  for (const auto& [n, c] : children_) all.push_back(n);
  giving_orders([&] {
    for (auto n = all.rbegin(); n != all.rend(); ++n) {
      child* c = find(*n);  // its sibling's end may have been the answer to an order
      if (c != nullptr && c->state != child_state::down && c->state != child_state::killing) {
        order_kill(*n, *c);
      }
    }
  });
}

// -- events ---------------------------------------------------------------------------------------

void supervisor::child_started(child_number n, runtime::steady_time now) {
  child* c = find(n);
  if (c == nullptr || c->state != child_state::starting) return;
  now_ = now;
  c->state = child_state::running;
  answered(*c);
  proceed();
}

void supervisor::child_exited(child_number n, exit_reason how, runtime::steady_time now) {
  child* c = find(n);
  if (c == nullptr || c->state == child_state::down) return;
  now_ = now;
  c->state = child_state::down;
  --alive_;
  set_due(n, *c, std::nullopt);
  if (!std::exchange(c->doomed, false)) {
    ended_by_itself(n, *c, how);
  } else if (!c->wanted) {
    forget(n);
  }
  proceed();
}

std::optional<runtime::steady_time> supervisor::next_due() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first;
}

void supervisor::tick(runtime::steady_time now) {
  now_ = now;
  giving_orders([&] {
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const child_number n = timers_.begin()->second;
      child& c = *find(n);
      set_due(n, c, std::nullopt);
      if (c.state == child_state::stopping) {
        order_kill(n, c);
      } else if (dynamic()) {
        to_start_.push_back(n);
      }
    }
  });
}

// -- simple_one_for_one ---------------------------------------------------------------------------

std::optional<child_number> supervisor::start_child(runtime::steady_time now) {
  if (!dynamic() || phase_ != phase::running) return std::nullopt;
  now_ = now;
  const child_number n = next_number_++;
  add(n, specs_.front(), /*first=*/false);
  to_start_.push_back(n);
  proceed();
  return n;
}

bool supervisor::terminate_child(child_number n, runtime::steady_time now) {
  child* c = find(n);
  if (!dynamic() || c == nullptr) return false;
  now_ = now;
  c->wanted = false;
  if (c->state == child_state::down) {
    forget(n);
  } else if (!std::exchange(c->doomed, true)) {
    to_stop_.push_back(n);
  }
  proceed();
  return true;
}

std::vector<supervisor::child_info> supervisor::which_children() const {
  std::vector<child_info> all;
  all.reserve(children_.size());
  for (const auto& [n, c] : children_) {
    all.push_back({.number = n, .id = c.spec->id, .state = c.state, .starts = c.starts});
    if (c.state == child_state::down) all.back().restart_at = c.due;
  }
  return all;
}

// -- what an end means ----------------------------------------------------------------------------

void supervisor::ended_by_itself(child_number n, child& c, exit_reason how) {
  if (!is_restarted(c.spec->restart, how)) {
    c.wanted = false;
    answered(c);
    return forget(n);
  }
  if (!restarts_.fault(now_).restart_now) return end_all(phase::failing);
  const auto d = c.window.fault(now_);
  if (!d.restart_now) {
    set_due(n, c, now_ + d.wait);
  } else if (dynamic()) {
    to_start_.push_back(n);
  }
  if (flags_.strategy == strategy::one_for_one) answered(c);  // the next ones do not need it
  take_along(n);
}

// The siblings that share the fate of child n: stopped first, if they run, and started with it.
void supervisor::take_along(child_number n) {
  if (flags_.strategy != strategy::one_for_all && flags_.strategy != strategy::rest_for_one) return;
  const child_number from = flags_.strategy == strategy::one_for_all ? 0 : n + 1;
  for (auto at = children_.lower_bound(from); at != children_.end(); ++at) {
    auto& [number, c] = *at;
    if (number == n) continue;
    const bool not_started_yet = c.wanted && c.state == child_state::down;
    c.wanted = c.spec->restart != restart_type::temporary || not_started_yet;
    c.doomed = c.state != child_state::down;
    if (!c.wanted) answered(c);
  }
}

// From here on no child is started.
void supervisor::end_all(phase how) {
  phase_ = how;
  to_start_.clear();
  to_stop_.clear();
  std::vector<child_number> idle;
  for (auto& [n, c] : children_) {
    c.wanted = false;
    if (c.state == child_state::down) {
      idle.push_back(n);
      continue;
    }
    c.doomed = true;
    to_stop_.push_back(n);
  }
  for (const child_number n : idle) forget(n);
}

// A child that is not started again. Static ones stay in the list, as in OTP.
void supervisor::forget(child_number n) {
  child& c = *find(n);
  set_due(n, c, std::nullopt);
  if (dynamic()) children_.erase(n);
}

supervisor::child* supervisor::find(child_number n) {
  const auto at = children_.find(n);
  return at == children_.end() ? nullptr : &at->second;
}

void supervisor::add(child_number n, const child_spec& spec, bool first) {
  children_.emplace(
      n, child{.spec = &spec, .window = {spec.intensity, spec.backoff, chance_}, .first = first});
}

void supervisor::set_due(child_number n, child& c, std::optional<runtime::steady_time> when) {
  if (c.due) timers_.erase({*c.due, n});
  c.due = when;
  if (c.due) timers_.insert({*c.due, n});
}

void supervisor::answered(child& c) noexcept {
  if (std::exchange(c.first, false)) --pending_;
}

}  // namespace bulkhead::supervision
