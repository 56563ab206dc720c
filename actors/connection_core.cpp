#include <bulkhead/actors/connection_core.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/tls/first_flight.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::actors {

namespace {

// How much of a lingering peer's late input is read and dropped before it is reset.
constexpr std::size_t linger_bytes = 64 * 1024;

// Enough output to send before more requests of the same turn are read.
constexpr std::size_t turn_output_limit = 128 * 1024;

std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT(*-reinterpret-cast)
}

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

void connection_core::timer_expired(void* self) noexcept {
  auto* c = static_cast<connection_core*>(self);
  c->guarded([c] { c->expired(); });
}

// -- receiving

void connection_core::first_bytes(std::span<const std::byte> bytes) {
  if (held_) {
    held_->append(as_text(bytes));
    bytes = as_bytes(*held_);
  }
  switch (tls::classify(bytes)) {
    case tls::first_flight::incomplete:
      if (!held_) held_ = std::make_unique<std::string>(as_text(bytes));
      return;
    case tls::first_flight::plain_http:
      return refuse_plain_http();
    case tls::first_flight::garbage:
      env_.counters.handshake_failures.add();
      return say_last(tls::alert_unexpected_message);
    case tls::first_flight::record:
      break;
  }
  if (env_.pending_handshakes >= env_.settings.pending_handshakes) {
    env_.counters.rejected.add();
    return say_last(tls::alert_internal_error);
  }
  const std::unique_ptr<std::string> first = std::move(held_);  // `bytes` may live there
  session_ = std::make_unique<tls::session>(env_.tls);
  phase_ = phase::handshaking;
  ++env_.pending_handshakes;
  pending_counted_ = true;
  session_->feed(bytes);
  pump();
}

// Sends bytes to a peer that gets no session, and closes.
void connection_core::say_last(std::string_view bytes) {
  ending_ = ending::refused;
  close_after_ = true;
  env_.output.text().append(bytes);
  flush();
}

// RFC 9110 has no word for this; nginx and others answer the same way.
void connection_core::refuse_plain_http() {
  env_.counters.handshake_failures.add();
  say_last(
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: 62\r\nConnection: close\r\n\r\n"
      "This port speaks HTTPS. Use https:// instead of http:// here.\n");
}

// Part of a request is here, and the rest is waited for.
bool connection_core::request_arriving() const noexcept {
  return !no_more_requests_ && (in_body_ || (parser_ && parser_->in_request()));
}

// There is credit for another request, and room for its answer.
bool connection_core::may_read() const noexcept {
  return !close_after_ && !no_more_requests_ && phase_ != phase::over &&
         phase_ != phase::lingering && in_flight_ < env_.settings.limits.pipeline_window &&
         !backlog_ && !(sending_ && out_);
}

// Reads as much as there is credit for: held plaintext first, then what the session holds.
void connection_core::pump() {
  if (pumping_) return;
  read_what_is_there();
  if (over()) return;
  // Also behind the last request: what comes there is left in the socket, not kept here. Last,
  // because a transport may deliver from inside a resume.
  const bool pause = !may_read() && !close_after_;
  if (pause == receive_paused_) return;
  receive_paused_ = pause;
  if (pause) {
    transport_->pause_receiving();
  } else {
    transport_->resume_receiving();
  }
}

void connection_core::read_what_is_there() {
  pumping_ = true;
  struct leave {
    bool& flag;
    ~leave() { flag = false; }
  } leave_pump{pumping_};

  for (bool more = true; more;) {
    if (held_ && phase_ == phase::open && may_read()) {
      const std::unique_ptr<std::string> plaintext = std::move(held_);
      consume(*plaintext);
    }
    while (session_ && !held_ && may_read()) {
      if (!out_) out_ = env_.shard.buffers().lease();
      const auto r = session_->read(env_.plaintext, out_);
      if (phase_ == phase::handshaking && session_->established()) established();
      if (r.bytes != 0) consume(as_text(std::span(env_.plaintext).first(r.bytes)));
      if (over()) return;
      if (r.state == tls::session::status::failed) return session_failed();
      if (r.state == tls::session::status::closed) return peer_closed(/*clean=*/true);
      if (r.bytes == 0) break;
    }
    if (session_) session_->end_feed();
    flush();
    if (over()) return;
    more = may_read() && (held_ || (session_ && session_->has_unread()));
  }
}

void connection_core::established() {
  phase_ = phase::open;
  env_.counters.handshakes.add();
  --env_.pending_handshakes;
  pending_counted_ = false;
  set_deadline();
}

void connection_core::session_failed() {
  if (phase_ == phase::handshaking) env_.counters.handshake_failures.add();
  if (runtime::log::enabled(runtime::log::level::debug)) {
    runtime::log::debug("tls", peer_.to_string() + ": " + session_->failure());
  }
  session_->end_feed();
  ending_ = ending::refused;
  drop_exchanges();
  env_.output.clear();
  backlog_.reset();
  close_after_ = true;
  close_sent_ = true;  // the alert in out_ is the last word, not close_notify
  flush();
}

// The peer sends nothing more. What it asked for is still answered, unless it left a TLS session
// without close_notify: then nobody is there to read it.
void connection_core::peer_closed(bool clean) {
  if (session_) session_->end_feed();
  const bool partial = in_body_ || (parser_ && parser_->in_request());
  peer_finished_ = peer_expects_close_ = no_more_requests_ = true;
  if (!clean) {
    env_.counters.truncated.add();
    return finish(in_flight_ != 0 || partial || sending_ ? ending::peer_gone : ending::clean);
  }
  if (partial) ending_ = ending::peer_gone;
  if (in_flight_ == 0) close_after_ = true;
  flush();
}

void connection_core::hold(std::string_view plaintext) {
  held_ = std::make_unique<std::string>(plaintext);
}

void connection_core::take_parser() {
  asked_ = true;
  if (env_.parsers.empty()) {
    parser_ = std::make_unique<http::request_parser>(env_.settings.limits);
  } else {
    parser_ = std::move(env_.parsers.back());
    env_.parsers.pop_back();
  }
}

void connection_core::give_parser_back() {
  if (env_.parsers.size() < environment::parsers_kept) env_.parsers.push_back(std::move(parser_));
  parser_.reset();
}

void connection_core::consume(std::string_view bytes) {
  bool between_requests = false;
  while (!bytes.empty() && !close_after_ && !no_more_requests_ && !over()) {
    if (env_.output.size() >= turn_output_limit) flush();
    if (over()) return;
    if (!may_read()) {
      hold(bytes);
      break;
    }
    if (!parser_) take_parser();
    if (!current_) begin_request();
    between_requests = false;
    const auto step = parser_->parse(bytes, current_->request);
    bytes.remove_prefix(step.consumed);
    if (in_body_) body_bytes_ += static_cast<std::uint32_t>(step.consumed);
    switch (step.state) {
      case http::request_parser::progress::more:
        break;
      case http::request_parser::progress::head:
        in_body_ = true;
        body_bytes_ = 0;
        request_began_ = env_.shard.now();
        continue_due_ = bytes.empty() && parser_->expects_continue();
        if (first_ == nullptr) say_continue();
        break;
      case http::request_parser::progress::complete: {
        in_body_ = continue_due_ = false;
        if (!current_->request.keep_alive()) {
          no_more_requests_ = true;
          peer_expects_close_ = bytes.empty();
        }
        between_requests = current_->request.keep_alive();
        dispatch(std::move(current_));
        break;
      }
      case http::request_parser::progress::failed:
        env_.counters.malformed.add();
        return refuse(parser_->error_status(), parser_->error_reason());
    }
  }
  if (between_requests && parser_ && !over()) give_parser_back();
}

void connection_core::say_continue() {
  if (std::exchange(continue_due_, false)) {
    env_.output.text().append(http::serializer::interim_continue);
  }
}

// -- requests

void connection_core::begin_request() {
  current_ = env_.exchanges.take();
  // Unique in the process without a shared counter: shards take turns in blocks of 1,024 numbers.
  const std::uint64_t id = ++env_.next_request_id * 1024 + env_.shard.index();
  current_->request.set_origin(id, peer_, secure_, session_ ? session_->client() : nullptr);
  request_began_ = env_.shard.now();
}

void connection_core::dispatch(exchange_ref x) {
  exchange& e = *x;
  e.owner_ = this;
  e.counted_ = true;
  env_.counters.started.add();
  ++in_flight_;
  dispatching_ = true;
  struct leave {
    bool& flag;
    ~leave() { flag = false; }
  } leave_dispatch{dispatching_};
  try {
    env_.handlers.dispatch(e);
  } catch (...) {
    e.owner_ = nullptr;
    --in_flight_;
    env_.counters.aborted.add();
    throw;
  }
  if (e.answered() && first_ == nullptr) return answer_in_turn(e);
  line_up(e);
  if (first_->answered()) answer_queue();
}

// Puts an exchange at the end of those in flight.
void connection_core::line_up(exchange& x) noexcept {
  x.references_.fetch_add(1, std::memory_order_relaxed);
  (last_ != nullptr ? last_->next_in_line_ : first_) = &x;
  last_ = &x;
}

// Writes one response into the turn's output; it is the oldest that is in flight.
void connection_core::answer_in_turn(exchange& x) {
  x.owner_ = nullptr;
  --in_flight_;
  if (!x.response.valid()) {
    runtime::log::error("http", "request " + std::to_string(x.request.id()) +
                                    ": the handler's response has an invalid field; sent 500");
    x.response = http::response::problem(500);
  }
  const bool last = !x.request.keep_alive() || x.response.closes() ||
                    ((draining_ || no_more_requests_) && in_flight_ == 0);
  const http::framing framing{.head_only = x.request.method() == http::method::head,
                              .keep_alive = !last,
                              .minor_version = x.request.minor_version()};
  env_.serializer.write_head(x.response, framing, env_.wall(), env_.output.text());
  if (http::serializer::content_follows(x.response, framing)) {
    env_.output.add(x.response.take_content());
  }
  if (x.counted_) {
    if (x.how() == verdict::trapped) {
      env_.counters.trapped.add();
    } else {
      ++unsent_responses_;
    }
  }
  if (!last) return;
  close_after_ = true;
  drop_exchanges();  // asked after the one that closes: RFC 9112 section 9.6
}

void connection_core::answer_queue() {
  while (first_ != nullptr && first_->answered()) {
    exchange* x = first_;
    const exchange_ref mine(*x);
    first_ = x->next_in_line_;
    if (first_ == nullptr) last_ = nullptr;
    x->references_.fetch_sub(1, std::memory_order_relaxed);  // the queue's
    answer_in_turn(*x);
  }
  if (first_ == nullptr) say_continue();
}

// An error of the client: answered after what was asked before it, then the connection closes.
void connection_core::refuse(std::uint16_t status, std::string_view why) {
  if (runtime::log::enabled(runtime::log::level::debug)) {
    runtime::log::debug(
        "http", peer_.to_string() + ": " + std::to_string(status) + ": " + std::string(why));
  }
  ending_ = ending::refused;
  in_body_ = continue_due_ = false;
  no_more_requests_ = true;
  if (!current_) begin_request();
  const exchange_ref x = std::move(current_);
  x->response = http::response::problem(status, why);
  x->response.close();
  x->answered_ = true;
  ++in_flight_;
  if (first_ == nullptr) return answer_in_turn(*x);
  x->owner_ = this;
  line_up(*x);
}

void connection_core::drop_exchanges() noexcept {
  while (first_ != nullptr) {
    exchange* x = first_;
    const exchange_ref mine(*x);
    first_ = x->next_in_line_;
    x->references_.fetch_sub(1, std::memory_order_relaxed);  // the queue's
    x->owner_ = nullptr;
    x->task_ = {};  // cancels a suspended handler
    --in_flight_;
    if (!x->counted_) continue;
    if (x->answered() && x->how() == verdict::trapped) {
      env_.counters.trapped.add();
    } else {
      env_.counters.aborted.add();
    }
  }
  last_ = nullptr;
  current_.reset();
}

// -- sending

// Encrypts what the turn produced (or what a slow reader left) and gives it to the transport: one
// write, as long as it fits a block. Leaves the shard's output empty.
void connection_core::flush() {
  auto take = [this](std::span<const std::byte> bytes) { return put(bytes); };
  if (backlog_) {
    backlog_->take_rest(env_.output);
    if (backlog_->drain(take)) backlog_.reset();
  } else if (!env_.output.empty()) {
    if (!env_.output.drain(take) && !over()) {
      backlog_ = std::make_unique<backlog>();
      backlog_->take_rest(env_.output);
    }
    env_.output.clear();
  }
  if (over()) return;
  if (close_after_ && !backlog_ && !close_sent_) {
    close_sent_ = true;
    if (session_ && session_->established()) {
      if (!out_) out_ = env_.shard.buffers().lease();
      session_->close(out_);
    }
  }
  if (out_ && out_.empty()) out_ = {};
  if (out_ && !sending_) send_block();
  if (!sending_ && !backlog_) return all_sent();
  set_deadline();
}

// Answers how much was taken; less than all when the peer does not read.
std::size_t connection_core::put(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  for (;;) {
    if (!out_) out_ = env_.shard.buffers().lease();
    const auto rest = bytes.subspan(taken);
    if (session_ && phase_ != phase::waiting) {
      const auto written = session_->write(rest, out_);
      if (!written) {
        finish(ending::peer_gone);
        return taken;
      }
      taken += *written;
    } else {
      const std::size_t n = std::min(rest.size(), out_.room_left());
      out_.append(rest.first(n));
      taken += n;
    }
    if (taken == bytes.size() || sending_) return taken;
    send_block();
  }
}

void connection_core::send_block() {
  sending_ = !transport_->send(std::move(out_));
  out_ = {};
  send_progress_ = env_.shard.now();
}

// Nothing is waiting to go out.
void connection_core::all_sent() {
  if (unsent_responses_ != 0) env_.counters.completed.add(std::exchange(unsent_responses_, 0U));
  if (!close_after_) return set_deadline();
  if (phase_ == phase::lingering) return;
  if (peer_expects_close_) return finish(ending_);
  // Closing with unread bytes would reset the connection and may destroy our last answer on its
  // way (RFC 9112 section 9.6): finish our side and wait for the peer's.
  phase_ = phase::lingering;
  body_bytes_ = 0;
  transport_->shutdown_send();
  if (receive_paused_) transport_->resume_receiving();
  arm(env_.shard.now() + env_.settings.timeouts.linger);
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
  drop_exchanges();
  if (unsent_responses_ != 0) env_.counters.aborted.add(std::exchange(unsent_responses_, 0U));
  env_.counters.closed.add();
  if (transport_) transport_.release()->dispose(how == ending::timed_out || how == ending::fault);
  out_ = {};
  held_.reset();
  backlog_.reset();
  on_over(how);
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
