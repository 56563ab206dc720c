#include <bulkhead/actors/bytes.hpp>
#include <bulkhead/actors/connection_core.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::actors {

namespace {

// How much of a lingering peer's late input is read and dropped before it is reset.
constexpr std::size_t linger_bytes = 64 * 1024;

}  // namespace

std::string_view to_string(ending how) noexcept {
  switch (how) {
    case ending::clean:
      return "clean";
    case ending::peer_gone:
      return "peer gone";
    case ending::timed_out:
      return "timed out";
    case ending::refused:
      return "refused";
    case ending::stopped:
      return "stopped";
    case ending::cut:
      return "cut";
    case ending::fault:
      return "fault";
  }
  return "unknown";
}

connection_core::connection_core(environment& env) noexcept : env_(env) {}

connection_core::~connection_core() {
  drop_exchanges();
}
// -- entry points

template <class F>
void connection_core::guarded(F&& f) noexcept {
  const bool was_busy = std::exchange(env_.busy, true);
  environment& env = env_;
  try {
    f();
  } catch (...) {
    env.output.clear();
    env.counters.connection_faults.add();
    on_fault(std::current_exception());
    finish(ending::fault);
  }
  env.busy = was_busy;
}

void connection_core::open(runtime::transport_ptr transport, const runtime::peer_address& peer,
                           bool secure) {
  transport_ = std::move(transport);
  peer_ = peer;
  secure_ = secure;
  phase_ = secure ? phase::waiting : phase::open;
  draining_ = env_.draining;
  const auto& t = env_.settings.timeouts;
  arm(env_.shard.now() + (secure ? t.handshake : t.head));
}

void connection_core::drain() noexcept {
  guarded([this] {
    if (over()) return;
    draining_ = true;
    if (phase_ == phase::waiting || phase_ == phase::handshaking) return finish(ending::stopped);
    // Between requests: close now. A request that has begun is answered with Connection: close.
    const bool begun = in_flight_ != 0 || in_body_ || held_ || (parser_ && parser_->in_request());
    if (phase_ == phase::open && !begun && !close_after_) {
      ending_ = ending::stopped;
      close_after_ = true;
      flush();
    }
  });
}

void connection_core::abort(ending how) noexcept {
  finish(how);
}

void connection_core::on_received(std::span<const std::byte> bytes) noexcept {
  guarded([&] {
    switch (phase_) {
      case phase::waiting:
        if (!close_after_) first_bytes(bytes);
        return;
      case phase::handshaking:
      case phase::open:
        if (close_after_) return;  // nothing that comes now is a request
        if (session_) {
          session_->feed(bytes);
        } else if (held_) {
          held_->append(as_text(bytes));
        } else {
          consume(as_text(bytes));
        }
        return pump();
      case phase::lingering:
        body_bytes_ += static_cast<std::uint32_t>(bytes.size());
        if (body_bytes_ > linger_bytes) finish(ending_);
        return;
      case phase::over:
        return;
    }
  });
}

void connection_core::on_receive_end(runtime::receive_end how) noexcept {
  guarded([&] {
    if (over()) return;
    if (how == runtime::receive_end::reset) return finish(ending::peer_gone);
    if (phase_ == phase::lingering) return finish(ending_);
    if (phase_ == phase::waiting || phase_ == phase::handshaking) {
      // A port scan or a load balancer's probe: no fault of anyone.
      return finish(held_ || session_ ? ending::peer_gone : ending::clean);
    }
    if (peer_finished_) return;  // close_notify came before the FIN
    peer_closed(/*clean=*/session_ == nullptr);
  });
}

void connection_core::on_sent() noexcept {
  guarded([this] {
    sending_ = false;
    send_progress_ = env_.shard.now();
    if (over()) return;
    flush();
    if (!over()) pump();
  });
}

void connection_core::on_answered(exchange& x) noexcept {
  if (dispatching_ || over()) return;  // whoever called dispatch() looks for itself
  if (env_.busy) return x.wake_owner_later();
  guarded([this] {
    answer_queue();
    pump();
  });
}

void connection_core::stream_has_news() noexcept {
  guarded([this] {
    if (over() || !stream_) return;
    flush();
    if (!over()) pump();
  });
}

void connection_core::timer_expired(void* self) noexcept {
  auto* c = static_cast<connection_core*>(self);
  c->guarded([c] { c->expired(); });
}

// -- the end

void connection_core::finish(ending how) noexcept {
  if (over()) return;
  if (phase_ == phase::handshaking || phase_ == phase::waiting) {
    if (how == ending::timed_out) env_.counters.handshake_timeouts.add();
  }
  if (pending_counted_) --env_.pending_handshakes;
  phase_ = phase::over;
  timer_.cancel();
  if (stream_) {
    stream_.reset();
    --in_flight_;
    env_.counters.aborted.add();
  }
  drop_exchanges();
  if (unsent_responses_ != 0) env_.counters.aborted.add(std::exchange(unsent_responses_, 0U));
  env_.counters.closed.add();
  // A clean end after a response that is not complete would be a lie.
  const bool reset = how == ending::timed_out || how == ending::fault || how == ending::cut;
  if (transport_) transport_.release()->dispose(reset);
  out_ = {};
  held_.reset();
  backlog_.reset();
  on_over(how);
}

void connection_core::release_session() noexcept {
  session_.reset();
  parser_.reset();
}

// -- deadlines

// A later deadline only moves a value: the timer notices when it fires. Most requests cost nothing.
void connection_core::arm(runtime::steady_time when) noexcept {
  deadline_ = when;
  if (timer_.armed() && armed_for_ <= when) return;
  armed_for_ = when;
  env_.shard.timers().arm(timer_, when);
}

// The nearest of what is due from the peer: reading our bytes, a head or body that has begun, or
// any request at all. Called after everything that the network did; only progress moves a deadline.
void connection_core::set_deadline() noexcept {
  if (phase_ != phase::open) return;  // absolute, from accept; or lingering
  const auto& t = env_.settings.timeouts;
  constexpr auto never = runtime::steady_time::max();
  auto due = sending_ || backlog_ ? send_progress_ + t.send : never;
  if (request_arriving() && in_body_) {
    const auto earned = runtime::seconds(t.body_rate == 0 ? 0 : body_bytes_ / t.body_rate);
    due = std::min(due, request_began_ + t.body + earned);
  } else if (request_arriving()) {
    due = std::min(due, request_began_ + t.head);
  } else if (due == never && in_flight_ == 0) {
    if (!asked_ && !session_) return;  // plain: the first head is due from accept
    due = env_.shard.now() + t.idle;
  }
  if (due == never) return timer_.cancel();  // the handler's time is not the client's
  arm(due);
}

void connection_core::expired() {
  if (over()) return;
  const auto now = env_.shard.now();
  if (now < deadline_) {
    armed_for_ = deadline_;
    return env_.shard.timers().arm(timer_, deadline_);
  }
  if (phase_ == phase::lingering) return finish(ending_);
  if (phase_ != phase::open) return finish(ending::timed_out);
  if ((sending_ || backlog_) && now >= send_progress_ + env_.settings.timeouts.send) {
    return finish(ending::timed_out);
  }
  if (request_arriving()) {
    // 408 only to someone who began to ask (RFC 9110 section 15.5.9).
    env_.counters.late.add();
    refuse(408, "the request took too long to arrive");
    ending_ = ending::timed_out;
  } else {
    // An idle keep-alive connection: nothing is wrong with it.
    ending_ = asked_ ? ending::clean : ending::timed_out;
    close_after_ = true;
  }
  flush();
}

}  // namespace bulkhead::actors
