// The requests of a pool: who gets them, what comes back, whom a death is blamed on. The life of
// its workers is in cell_pool_workers.cpp, what depends on time in cell_pool_time.cpp.
#include <bulkhead/supervision/cell_crash.hpp>
#include <bulkhead/supervision/cell_pool.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace bulkhead::supervision {

namespace {

// Requests of a quick handler are put into one worker's ring one behind the other: one wake-up then
// serves many. A handler that takes longer than this has each of its requests wait for a free one.
constexpr double quick_microseconds = 50.0;
constexpr std::size_t window_of_quick = cell_layout::most_requests;
// A request that was in the ring of so many workers when they died is not tried again.
constexpr unsigned most_deaths = 3;

bool idempotent(http::method m) noexcept {
  return m == http::method::get || m == http::method::head || m == http::method::options ||
         m == http::method::put || m == http::method::delete_;
}

}  // namespace

bool cell_pool::submit(actors::exchange& x) {
  cell_job job{.x = actors::exchange_ref(x), .since = loop_->now()};
  if (waiting_.empty()) {
    if (cell* c = choose()) {
      give(*c, std::move(job));
      return true;
    }
  }
  replenish();  // after a back-off nobody else does
  if (waiting_.size() >= supervisor_.spec().queue || members_.empty()) return false;
  if (options_.deadline.count() != 0) arm(job.since + options_.deadline);
  waiting_.push_back(std::move(job));
  return true;
}

bool cell_pool::quick() const noexcept {
  return mean_microseconds_ < quick_microseconds;
}

cell* cell_pool::choose() noexcept {
  std::uint32_t busy = 0;
  cell* idle = nullptr;
  for (member& m : members_) {
    cell& c = *m.worker;
    if (c.now() == cell::state::condemned) continue;
    if (c.busy()) {
      ++busy;
      if (quick() && c.accepts(window_of_quick) && loop_->now() - c.front_since() < patience) {
        return &c;
      }
    } else if (idle == nullptr && c.accepts(1)) {
      idle = &c;
    }
  }
  return busy < options_.workers ? idle : nullptr;
}

void cell_pool::give(cell& to, cell_job job) {
  const actors::exchange_ref x = job.x;
  if (!to.send(std::move(job), loop_->now())) {
    supervisor_.give_back(x->request.id());
    return x->answer(http::response::problem(431));
  }
  auto due = runtime::steady_time::max();
  if (options_.deadline.count() != 0) due = to.front_since() + options_.deadline;
  if (options_.resident != 0) due = std::min(due, loop_->now() + patience);
  if (to.outstanding() > 1) due = std::min(due, loop_->now() + patience);
  if (due != runtime::steady_time::max()) arm(due);
}

void cell_pool::feed() noexcept {
  while (!waiting_.empty()) {
    if (waiting_.front().x->owner() == nullptr) {  // its client has left
      supervisor_.give_back(waiting_.front().x->request.id());
      waiting_.pop_front();
      continue;
    }
    cell* c = choose();
    if (c == nullptr) return;
    cell_job job = std::move(waiting_.front());
    waiting_.pop_front();
    give(*c, std::move(job));
  }
}

// What a worker had not begun goes to the head of the queue, in its order.
void cell_pool::requeue(std::deque<cell_job> jobs) noexcept {
  while (!jobs.empty()) {
    if (jobs.back().deaths < most_deaths) {
      waiting_.push_front(std::move(jobs.back()));
    } else {
      jobs.back().answer(http::response::problem(502), actors::verdict::trapped);
    }
    jobs.pop_back();
  }
}

// Nobody will serve these before the back-off is over.
void cell_pool::turn_away_waiting() noexcept {
  const auto wait = supervisor_.backing_off().value_or(std::chrono::seconds(1));
  for (cell_job& job : std::exchange(waiting_, {})) {
    supervisor_.give_back(job.x->request.id());
    job.answer(unavailable(wait), actors::verdict::completed);
  }
}

// -- answers --------------------------------------------------------------------------------------

void cell_pool::at_turn_end() noexcept {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    cell& c = *members_[i].worker;
    if (c.now() == cell::state::condemned) continue;
    c.stay_awake();
    if (c.pending()) read_answers(c);
    c.send_more();
  }
  feed();
  std::int64_t busy = 0;
  for (const member& m : members_) {
    if (!m.worker->busy()) continue;
    ++busy;
    m.worker->wake();
  }
  show(static_cast<std::int64_t>(members_.size()), busy,
       static_cast<std::int64_t>(waiting_.size()));
}

void cell_pool::show(std::int64_t workers, std::int64_t busy, std::int64_t waiting) noexcept {
  const auto add = [](std::atomic<std::int64_t>& to, std::int64_t& shown, std::int64_t now) {
    if (now != shown) to.fetch_add(now - std::exchange(shown, now), std::memory_order_relaxed);
  };
  add(figures_.workers, workers_shown_, workers);
  add(figures_.busy, busy_shown_, busy);
  add(figures_.waiting, waiting_shown_, waiting);
}

bool cell_pool::may_sleep() noexcept {
  bool nothing = true;
  for (const member& m : members_) {
    cell& c = *m.worker;
    if (c.now() == cell::state::condemned) continue;
    if (c.busy() || c.now() == cell::state::starting) nothing = c.may_sleep() && nothing;
  }
  return nothing;
}

void cell_pool::read_answers(cell& c) {
  while (c.now() != cell::state::condemned) {
    cell::answer a = c.read();
    if (a.what == cell::answer::kind::nothing) return;
    answered(c, std::move(a));
  }
}

void cell_pool::answered(cell& c, cell::answer a) {
  switch (a.what) {
    case cell::answer::kind::nothing:
      return;
    case cell::answer::kind::ready:
      c.ready();
      if (unreplaced_ == 0) return;
      --unreplaced_;
      return supervisor_.restarted_in(loop_->now() - find(c.token())->ordered);
    case cell::answer::kind::response_began:
      return c.front().answer(std::move(a.response), actors::verdict::completed);
    case cell::answer::kind::response:
    case cell::answer::kind::response_ended:
      supervisor_.succeeded(c.front().x->request.id());
      if (a.what == cell::answer::kind::response) {
        c.front().answer(std::move(a.response), actors::verdict::completed);
      }
      static_cast<void>(c.take_front(loop_->now()));
      mean_microseconds_ = mean_microseconds_ * 0.9 + a.microseconds * 0.1;
      if (options_.max_requests != 0 && c.served() >= options_.max_requests) recycle(c);
      return;
    case cell::answer::kind::fault:
      if (a.memory) condemn(c, cell_end::memory, SIGKILL);
      return blame(c, 500, {std::move(a.fault_type), std::move(a.fault_text)});
    case cell::answer::kind::nonsense:
      return condemn(c, cell_end::nonsense, SIGKILL);  // blamed when it is dead
  }
}

// -- faults ---------------------------------------------------------------------------------------

// What a death costs its request: an answer, or nothing where another worker may try again.
void cell_pool::pay(cell_job job, std::uint16_t status) {
  if (status == 502 && options_.replay && !job.replayed && supervisor_.may_start() &&
      job.x->owner() != nullptr && idempotent(job.x->request.method())) {
    job.replayed = true;
    waiting_.push_front(std::move(job));
    return;
  }
  // What a deadline ended is counted so (docs/reference.md, counters).
  if (status == 503) {
    job.answer(unavailable(std::chrono::seconds(1)), actors::verdict::aborted);
  } else {
    job.answer(http::response::problem(status), actors::verdict::trapped);
  }
}

void cell_pool::fault(const cell_job* job, const exception_text& what, const crash_report* crash) {
  route_supervisor::place where{.shard = shard_};
  if (job != nullptr) {
    const http::request& r = job->x->request;
    where.route = std::string(r.method_name()) + ' ' + std::string(r.path());
    where.request = r.id();
  }
  if (crash != nullptr) {
    where.signal = crash->signal;
    where.detail = crash->backtrace;
  }
  if (supervisor_.fault(what, where)) {
    ++unreplaced_;
  } else {
    turn_away_waiting();
  }
}

// The oldest request of a worker met a fault: counted, answered, and what it cost is replaced. A
// response that has begun is cut.
void cell_pool::blame(cell& c, std::uint16_t status, const exception_text& what,
                      const crash_report* crash) {
  const bool began = c.began();
  c.fail_stream();
  cell_job job = c.take_front(loop_->now());
  fault(&job, what, crash);
  if (!began) pay(std::move(job), status);
  replenish();
}

}  // namespace bulkhead::supervision
