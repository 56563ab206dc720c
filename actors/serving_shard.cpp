#include <bulkhead/actors/serving_shard.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/runtime/signals.hpp>
#include <bulkhead/runtime/stack_sample.hpp>
#include <bulkhead/tls/first_flight.hpp>

#include <pthread.h>
#include <sys/socket.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace bulkhead::actors {

namespace {

// A shard hands a new connection to the least loaded one when it has this many more: the kernel
// spreads connections over SO_REUSEPORT sockets by hash, which is only even on average.
constexpr std::uint32_t imbalance = 2;

constexpr std::string_view refused_plain =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

}  // namespace

serving_shard::serving_shard(plan p)
    : loop_(p.index, *p.time),
      handlers_(std::move(p.handlers)),
      env_(loop_, p.settings, *handlers_, std::move(p.server_name)),
      admissions_(*p.admissions),
      drain_timer_([](void* self) noexcept { static_cast<serving_shard*>(self)->drain_expired(); },
                   this) {
  env_.tls = std::move(p.tls);
}

serving_shard::~serving_shard() {
  stop_and_join();
}

void serving_shard::listen(runtime::unique_fd socket, bool secure) {
  listeners_.push_back(std::make_unique<runtime::listener>(
      loop_, std::move(socket),
      [this, secure](runtime::unique_fd accepted, const runtime::peer_address& peer) {
        arrive({std::move(accepted), peer, secure});
      }));
}

void serving_shard::start() {
  const runtime::all_signals_blocked for_the_shard;
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), ("shard-" + std::to_string(loop_.index())).c_str());
    const runtime::may_be_sampled by_the_watchdog(loop_.heart());
    on_start();
    handlers_->start(loop_);
    for (auto& l : listeners_) l->resume();
    loop_.run();
    returned_.set_value();
  });
}

bool serving_shard::stop_until(std::chrono::steady_clock::time_point until) {
  if (!thread_.joinable()) return true;
  loop_.stop();
  if (returned_.get_future().wait_until(until) != std::future_status::ready) {
    thread_.detach();
    return false;
  }
  thread_.join();
  return true;
}

void serving_shard::stop_and_join() {
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  }
  listeners_.clear();  // nobody is left to accept
}

void serving_shard::publish(std::shared_ptr<const tls::context> context) {
  loop_.post([this, c = std::move(context)]() mutable { env_.tls = std::move(c); });
}

void serving_shard::drain(runtime::milliseconds limit, std::function<void()> done) {
  loop_.post([this, limit, d = std::move(done)]() mutable {
    listeners_.clear();
    env_.draining = true;
    drained_ = std::move(d);
    drain_connections();
    if (open_.load(std::memory_order_relaxed) == 0) {
      if (auto f = std::exchange(drained_, nullptr)) f();
      return;
    }
    loop_.timers().arm(drain_timer_, loop_.now() + limit);
  });
}

void serving_shard::drain_expired() noexcept {
  cut_off_.store(true, std::memory_order_relaxed);
  runtime::log::warn("server", "shard " + std::to_string(loop_.index()) + ": " +
                                   std::to_string(open()) +
                                   " connections did not end in time and are cut off");
  abort_connections();
}

// -- admission

void serving_shard::arrive(arrival a) {
  if (!admissions_.admit()) return refuse(std::move(a));
  serving_shard& target = least_loaded();
  target.open_.fetch_add(1, std::memory_order_relaxed);
  if (&target == this) return take(std::move(a));
  // std::function wants a copyable callable; the descriptor is owned by the shared box.
  auto box = std::make_shared<arrival>(std::move(a));
  target.loop_.post([&target, box] { target.take(std::move(*box)); });
}

serving_shard& serving_shard::least_loaded() noexcept {
  serving_shard* best = this;
  std::uint32_t least = open();
  const std::uint32_t mine = least;
  for (serving_shard* s : admissions_.shards) {
    if (s->open() < least) {
      best = s;
      least = s->open();
    }
  }
  return mine > least + imbalance ? *best : *this;
}

void serving_shard::take(arrival a) {
  if (env_.draining) return connection_over();  // accepted by another shard just before the stop
  env_.counters.admitted.add();
  try {
    open_connection(std::move(a));
  } catch (const std::exception& e) {
    env_.counters.closed.add();
    env_.counters.connection_faults.add();
    runtime::log::error("acceptor", std::string("no connection could be made: ") + e.what());
    connection_over();
  }
}

// Answered and counted, never a silent drop: an alert or a 503, then the end.
void serving_shard::refuse(arrival a) noexcept {
  env_.counters.rejected.add();
  const std::string_view answer = a.secure ? tls::alert_internal_error : refused_plain;
  static_cast<void>(
      ::send(a.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(a.socket.get(), SHUT_WR);
}

void serving_shard::connection_over() noexcept {
  admissions_.leave();
  if (open_.fetch_sub(1, std::memory_order_relaxed) != 1 || !drained_) return;
  drain_timer_.cancel();
  std::exchange(drained_, nullptr)();
}

}  // namespace bulkhead::actors
