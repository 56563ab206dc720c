// What a pool does when time passes: deadlines, limits that are looked at, requests that are taken
// back from behind a slow one, kills that follow a polite end.
#include <bulkhead/supervision/cell_pool.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

namespace bulkhead::supervision {

namespace {

constexpr auto resident_check = std::chrono::milliseconds(20);

std::uint64_t resident_bytes(pid_t pid) noexcept {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/statm", static_cast<int>(pid));
  unsigned long long total = 0;
  unsigned long long resident = 0;
  if (std::FILE* f = std::fopen(path.data(), "re")) {
    if (std::fscanf(f, "%llu %llu", &total, &resident) != 2) resident = 0;  // NOLINT(cert-err34-c)
    std::fclose(f);
  }
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void cell_pool::arm(runtime::steady_time when) noexcept {
  if (timer_.armed() && armed_for_ <= when) return;
  armed_for_ = when;
  loop_->timers().arm(timer_, when);
}

void cell_pool::condemn(cell& c, cell_end why, int signal) noexcept {
  c.condemn(why);
  c.kill(signal);
}

// Whether the oldest is what the worker is at. It answers one before it claims the next: once the
// others are taken back, either it is, or its answer is there. What happens meanwhile may add
// members.
bool cell_pool::still_at_it(cell& c) {
  requeue(c.take_back_waiting());
  read_answers(c);
  return c.now() == cell::state::ready && c.busy();
}

void cell_pool::overrun(cell& c) {
  if (!still_at_it(c)) return;
  if (c.held_up()) c.progressed(loop_->now());
  if (loop_->now() < c.front_since() + options_.deadline) {
    return arm(c.front_since() + options_.deadline);
  }
  condemn(c, cell_end::deadline, SIGTERM);
  kill_later(c);
  blame(c, 503,
        {"deadline", "no answer within " + std::to_string(options_.deadline.count()) + " ms"});
}

void cell_pool::kill_later(cell& c) noexcept {
  const auto when = loop_->now() + options_.grace;
  find(c.token())->kill_at = when;
  arm(when);
}

void cell_pool::recycle(cell& c) noexcept {
  if (c.busy()) {
    requeue(c.take_back_waiting());
    if (c.busy()) return;  // after that one
  }
  c.ask_to_quit();
  c.condemn(cell_end::recycled);
  kill_later(c);
  replenish();
}

// Those that waited as long as they may be served: no handler did anything wrong.
void cell_pool::turn_away_late(runtime::steady_time& next) noexcept {
  if (options_.deadline.count() == 0) return;
  while (!waiting_.empty() && waiting_.front().since + options_.deadline <= loop_->now()) {
    const cell_job job = std::move(waiting_.front());
    waiting_.pop_front();
    supervisor_.give_back(job.x->request.id());
    job.answer(unavailable(std::chrono::seconds(1)), actors::verdict::aborted);
  }
  if (!waiting_.empty()) next = std::min(next, waiting_.front().since + options_.deadline);
}

void cell_pool::scan() noexcept {
  const auto now = loop_->now();
  auto next = runtime::steady_time::max();
  // By token: what happens to one may add and remove others.
  std::vector<std::uint32_t> tokens;
  for (const member& m : members_) tokens.push_back(m.worker->token());
  for (const std::uint32_t token : tokens) {
    if (member* m = find(token)) look_after(*m, now, next);
  }
  turn_away_late(next);
  if (next != runtime::steady_time::max()) arm(next);
  feed();
}

void cell_pool::look_after(member& m, runtime::steady_time now, runtime::steady_time& next) {
  cell& c = *m.worker;
  if (m.gone_at) {
    if (now >= *m.gone_at + report_limit) return died(c.token(), unknown_status);
    next = std::min(next, *m.gone_at + report_limit);
    return;
  }
  if (m.kill_at) {
    if (now < *m.kill_at) {
      next = std::min(next, *m.kill_at);
    } else {
      c.kill(SIGKILL);
      m.kill_at.reset();
    }
    return;
  }
  if (c.now() == cell::state::starting) {
    if (now < m.ordered + start_limit) {
      next = std::min(next, m.ordered + start_limit);
    } else {
      condemn(c, cell_end::start, SIGKILL);
    }
    return;
  }
  if (c.now() != cell::state::ready || !c.busy()) return;
  if (options_.deadline.count() != 0) {
    const auto due = c.front_since() + options_.deadline;
    if (now >= due) return overrun(c);
    next = std::min(next, due);
  }
  if (options_.resident != 0) {
    if (resident_bytes(c.pid()) > options_.resident) {
      if (!still_at_it(c)) return arm(now + resident_check);
      condemn(c, cell_end::resident, SIGKILL);
      return blame(c, 500,
                   {"memory limit", "more than " + std::to_string(options_.resident) +
                                        " bytes of resident memory"});
    }
    next = std::min(next, now + resident_check);
  }
  if (c.outstanding() > 1) {
    if (now - c.front_since() >= patience) requeue(c.take_back_waiting());
    next = std::min(next, now + patience);
  }
}

}  // namespace bulkhead::supervision
