// A connection's way in: first bytes, TLS session, requests.
#include <bulkhead/actors/bytes.hpp>
#include <bulkhead/actors/connection_core.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/tls/first_flight.hpp>

#include <memory>
#include <utility>

namespace bulkhead::actors {

namespace {

// Enough output to send before more requests of the same turn are read.
constexpr std::size_t turn_output_limit = 128 * 1024;

}  // namespace

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
        if (first_ == nullptr && !stream_) say_continue();
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

}  // namespace bulkhead::actors
