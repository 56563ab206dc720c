// The life of a pool's workers: ordered from the zygote, watched, looked after, replaced.
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/cell_crash.hpp>
#include <bulkhead/supervision/cell_pool.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace bulkhead::supervision {

namespace {

using runtime::unique_fd;

// Between asking idle workers to end, when the server stops, and killing them.
constexpr auto quit_limit = std::chrono::seconds(1);

// What a worker said of a handler that it could not make; empty when it said nothing.
std::string said(const cell& c) {
  if (c.shared().start_failed.load(std::memory_order_acquire) != 1) return {};
  const auto& text = c.shared().start_error;
  return {text.data(), ::strnlen(text.data(), text.size())};
}

// How a worker ended, in the words of the ledger.
exception_text describe_end(const cell& c, int status, const crash_report& crash) {
  if (c.end() == cell_end::nonsense) return {"nonsense", "it wrote what no worker writes"};
  if (c.end() == cell_end::start) return {"start", "the worker was not ready within 10 s"};
  if (std::string why = said(c); !why.empty()) return {"start", std::move(why)};
  if (crash.signal != 0) return {crash.kind, crash.what};
  if (status == cell_pool::unknown_status) {
    return {"death", "the worker is gone; the zygote did not say how"};
  }
  if (WIFSIGNALED(status)) {
    return {signal_name(WTERMSIG(status)), "killed by " + signal_name(WTERMSIG(status))};
  }
  return {"exit", "ended with status " + std::to_string(WEXITSTATUS(status))};
}

// Why the server does not start.
std::string why_not_started(const cell& c, int status) {
  if (std::string why = said(c); !why.empty()) return why;
  return "its worker died at its start: " +
         describe_end(c, status, read_crash(c.shared().crash)).what;
}

bool ended_by(int status, int signal) noexcept {
  return status != cell_pool::unknown_status && WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

}  // namespace

// One descriptor of the pool in the loop.
class cell_pool::watched final : public runtime::io_source {
 public:
  enum class role : std::uint8_t { channel, bell, death };
  watched(cell_pool& pool, role what, std::uint32_t token = 0)
      : pool_(pool), what_(what), token_(token) {}
  void on_ready(std::uint32_t) noexcept override {
    switch (what_) {
      case role::channel:
        return pool_.read_reports();
      case role::bell:
        return;  // at_turn_end() looks at every ring
      case role::death:
        return pool_.pidfd_ready(token_);
    }
  }

 private:
  cell_pool& pool_;
  role what_;
  std::uint32_t token_;
};

cell_pool::cell_pool(const cell_zygote& zygote, unique_fd channel, unique_fd bell,
                     route_supervisor& supervisor, cell_figures& figures, unsigned shard)
    : zygote_(zygote),
      channel_(std::move(channel)),
      bell_(std::move(bell)),
      supervisor_(supervisor),
      figures_(figures),
      options_(supervisor.spec().cell),
      shard_(shard),
      timer_([](void* self) noexcept { static_cast<cell_pool*>(self)->scan(); }, this) {}

result<std::unique_ptr<cell_pool>> cell_pool::start(const cell_zygote& zygote, std::uint32_t route,
                                                    route_supervisor& supervisor,
                                                    cell_figures& figures, unsigned shard) {
  auto channel = zygote.open_channel(route);
  if (!channel) return channel.why();
  unique_fd bell(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!bell) return error(error_category::resource, "eventfd: " + errno_text(errno));
  std::unique_ptr<cell_pool> pool(
      new cell_pool(zygote, std::move(*channel), std::move(bell), supervisor, figures, shard));
  result<void> ok;
  const std::uint32_t all = pool->options_.workers + pool->options_.spares;
  for (std::uint32_t i = 0; ok && i < all; ++i) ok = pool->order_worker();
  if (ok) ok = pool->await_start();
  if (!ok) return ok.why();
  return pool;
}

cell_pool::~cell_pool() {
  stopping_ = true;
  show(0, 0, 0);
  if (loop_ != nullptr) {
    // Workers hold the bell, too, and the kernel reports what anybody holds.
    loop_->remove_hook(*this);
    loop_->unwatch(bell_.get());
    loop_->unwatch(channel_.get());
    for (const member& m : members_) {
      if (m.worker->pidfd() >= 0) loop_->unwatch(m.worker->pidfd());
    }
  }
  for (member& m : members_) {
    if (m.worker->now() == cell::state::ready && !m.worker->busy()) m.worker->ask_to_quit();
  }
  const auto until = std::chrono::steady_clock::now() + quit_limit;
  for (member& m : members_) {
    if (m.worker->pidfd() < 0) continue;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd end{m.worker->pidfd(), POLLIN, 0};
    const bool may_end = m.worker->now() == cell::state::ready && !m.worker->busy();
    if (!may_end ||
        ::poll(&end, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) != 1) {
      m.worker->kill(SIGKILL);
    }
  }
}

// -- orders ---------------------------------------------------------------------------------------

result<void> cell_pool::order_worker() {
  auto segment = cell_segment::create();
  if (!segment) return segment.why();
  const spawn_order order{++tokens_};
  const int memory = segment->descriptor();
  if (!send_message(channel_.get(), &order, sizeof order, {memory, bell_.get()})) {
    return error(error_category::resource, "the zygote takes no orders: " + errno_text(errno));
  }
  segment->close_descriptor();
  member& m = members_.emplace_back();
  m.worker = std::make_unique<cell>(order.token, std::move(*segment));
  if (loop_ != nullptr) {
    m.ordered = loop_->now();
    arm(m.ordered + start_limit);
  }
  figures_.forked.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// As many as there should be, unless the route backs off.
void cell_pool::replenish() noexcept {
  if (gone_ || stopping_) return;
  const auto alive = static_cast<std::uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [](const member& m) { return m.worker->now() != cell::state::condemned; }));
  const std::uint32_t wanted = options_.workers + options_.spares;
  if (alive >= wanted || !supervisor_.may_start()) return;
  try {
    for (std::uint32_t i = alive; i < wanted; ++i) {
      if (auto ok = order_worker(); !ok) {
        runtime::log::error("cell", supervisor_.spec().id + ": " + ok.why().message());
        return;
      }
    }
  } catch (const std::exception& e) {
    runtime::log::error("cell", supervisor_.spec().id + ": no worker ordered: " + e.what());
  }
}

// -- the first ones, before the loop runs ---------------------------------------------------------

result<void> cell_pool::await_start() {
  const auto until = std::chrono::steady_clock::now() + start_limit;
  for (;;) {
    bool all = true;
    for (member& m : members_) {
      static_cast<void>(m.worker->may_sleep());  // it is to ring
      if (m.worker->now() == cell::state::starting &&
          m.worker->read().what == cell::answer::kind::ready) {
        m.worker->ready();
      }
      all = all && m.worker->now() == cell::state::ready && m.worker->pidfd() >= 0;
    }
    if (all) return {};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return error(error_category::resource,
                   "route " + supervisor_.spec().id + ": its worker was not ready within 10 s");
    }
    std::array<pollfd, 2> ready{{{channel_.get(), POLLIN, 0}, {bell_.get(), POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), static_cast<int>(left.count()));
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto n = ::read(bell_.get(), &rings, sizeof rings);
    zygote_report report;
    unique_fd pidfd;
    for (;;) {
      const ssize_t got = receive_message(channel_.get(), &report, sizeof report, &pidfd, 1);
      if (got < 0) break;  // nothing yet
      if (got != sizeof report) {
        return error(error_category::resource,
                     "route " + supervisor_.spec().id +
                         ": the zygote has ended; see why in the kernel's "
                         "log, and start again");
      }
      member* m = find(report.token);
      if (m == nullptr) continue;
      if (report.what == zygote_report::kind::spawned) {
        m->worker->spawned(report.pid, std::move(pidfd));
      } else if (report.what == zygote_report::kind::refused) {
        return error(error_category::resource,
                     "route " + supervisor_.spec().id + ": no worker can be forked: " +
                         (report.status == ENOSYS
                              ? std::string("this kernel has no pidfd_open(), which Linux 5.3 "
                                            "brought; use another placement")
                              : errno_text(report.status) + "; raise the limit of processes"));
      } else {
        return error(error_category::configuration, "route " + supervisor_.spec().id + ": " +
                                                        why_not_started(*m->worker, report.status));
      }
    }
  }
}

void cell_pool::attach(runtime::shard& loop) {
  loop_ = &loop;
  channel_source_ = std::make_unique<watched>(*this, watched::role::channel);
  bell_source_ = std::make_unique<watched>(*this, watched::role::bell);
  if (!loop.watch(channel_.get(), EPOLLIN, *channel_source_) ||
      !loop.watch(bell_.get(), EPOLLIN | EPOLLET, *bell_source_)) {
    runtime::log::error("cell", "epoll refuses a descriptor: " + errno_text(errno));
  }
  for (member& m : members_) watch_death(m);
  loop.add_hook(*this);
}

// -- news -----------------------------------------------------------------------------------------

cell_pool::member* cell_pool::find(std::uint32_t token) noexcept {
  const auto it = std::find_if(members_.begin(), members_.end(),
                               [token](const member& m) { return m.worker->token() == token; });
  return it == members_.end() ? nullptr : &*it;
}

void cell_pool::watch_death(member& m) {
  m.death = std::make_unique<watched>(*this, watched::role::death, m.worker->token());
  if (!loop_->watch(m.worker->pidfd(), EPOLLIN, *m.death)) m.death.reset();
}

void cell_pool::read_reports() noexcept {
  for (;;) {
    zygote_report report;
    unique_fd pidfd;
    const ssize_t n = receive_message(channel_.get(), &report, sizeof report, &pidfd, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n != sizeof report) return zygote_gone();
    try {
      heard(report, std::move(pidfd));
    } catch (const std::exception& e) {
      runtime::log::error("cell", supervisor_.spec().id + ": " + e.what());
    }
  }
}

void cell_pool::heard(const zygote_report& r, unique_fd pidfd) {
  member* m = find(r.token);
  if (m == nullptr) return;
  switch (r.what) {
    case zygote_report::kind::spawned:
      m->worker->spawned(r.pid, std::move(pidfd));
      return watch_death(*m);
    case zygote_report::kind::refused:
      runtime::log::error(
          "cell", supervisor_.spec().id + ": no worker can be forked: " + errno_text(r.status));
      return died(r.token, unknown_status);
    case zygote_report::kind::exited:
      return died(r.token, r.status);
  }
}

void cell_pool::pidfd_ready(std::uint32_t token) noexcept {
  read_reports();
  member* m = find(token);
  if (m == nullptr) return;
  // The zygote's word on how it died is on its way.
  loop_->unwatch(m->worker->pidfd());
  m->gone_at = loop_->now();
  arm(loop_->now() + report_limit);
}

// It was killed, or is gone with its process group: what has workers goes on without replacements.
void cell_pool::zygote_gone() noexcept {
  if (std::exchange(gone_, true)) return;
  loop_->unwatch(channel_.get());
  runtime::log::error("cell", supervisor_.spec().id +
                                  ": the zygote has ended; its workers die with it and cannot be "
                                  "replaced: restart the server");
  if (zygote_.on_gone) zygote_.on_gone();
  while (!members_.empty()) died(members_.front().worker->token(), unknown_status);
  turn_away_waiting();
}

void cell_pool::died(std::uint32_t token, int status) noexcept {
  member* m = find(token);
  if (m == nullptr) return;
  m->worker->read_to_end();
  if (m->worker->now() != cell::state::condemned) read_answers(*m->worker);  // its last words
  m = find(token);
  if (m->worker->pidfd() >= 0 && !m->gone_at) loop_->unwatch(m->worker->pidfd());
  member dead = std::move(*m);
  members_.erase(members_.begin() + (m - members_.data()));
  cell& c = *dead.worker;
  const bool ours =
      c.end() != cell_end::none && c.end() != cell_end::nonsense &&
      c.end() != cell_end::start;  // ended for a reason that is in the ledger, or none
  if (!ours) {
    const crash_report crash = read_crash(c.shared().crash);
    const exception_text what = describe_end(c, status, crash);
    // The oldest is to blame, whatever the worker says of it: what was begun must not be begun
    // again. Only a kill from outside may find it between two requests.
    const bool killed = c.end() == cell_end::none && crash.signal == 0 && ended_by(status, SIGKILL);
    if (!c.busy() || (killed && !c.front_begun())) {
      fault(nullptr, what, &crash);
    } else {
      blame(c, ended_by(status, SIGXCPU) ? 503 : 502, what, &crash);
    }
  } else if (c.front_begun()) {  // in the moment between its answer before that and the kill
    pay(c.take_front(loop_->now()), 502);
  }
  c.fail_stream();
  std::deque<cell_job> left = c.take_all();
  for (cell_job& j : left) ++j.deaths;
  requeue(std::move(left));
  if (dead.death) loop_->bury(std::move(dead.death));
  replenish();
  feed();
}

}  // namespace bulkhead::supervision
