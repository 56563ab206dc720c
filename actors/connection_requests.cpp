// A connection's requests: to their handlers and back, in order.
#include <bulkhead/actors/connection_core.hpp>
#include <bulkhead/runtime/log.hpp>

#include <exception>
#include <string>
#include <utility>

namespace bulkhead::actors {

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
    const runtime::heartbeat::busy_with its_handler(
        env_.shard.heart(),
        {.id = e.request.id(), .method = e.request.method_name(), .path = e.request.path()});
    env_.handlers.dispatch(e);
  } catch (...) {
    e.owner_ = nullptr;
    --in_flight_;
    env_.counters.aborted.add();
    throw;
  }
  if (e.answered() && first_ == nullptr && !stream_) return answer_in_turn(e);
  line_up(e);
  if (first_->answered() && !stream_) answer_queue();
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
  const auto& source = x.response.content().source();
  const bool until_close =
      source != nullptr && x.request.minor_version() == 0 && !source->size().has_value();
  const bool last = !x.request.keep_alive() || x.response.closes() || until_close ||
                    ((draining_ || no_more_requests_) && in_flight_ == 0);
  const http::framing framing{.head_only = x.request.method() == http::method::head,
                              .keep_alive = !last,
                              .minor_version = x.request.minor_version()};
  const bool chunked = http::serializer::is_chunked(x.response, framing);
  env_.serializer.write_head(x.response, framing, env_.wall(), env_.output.text());
  if (http::serializer::content_follows(x.response, framing)) {
    http::body content = x.response.take_content();
    if (content.source() != nullptr) {
      ++in_flight_;  // until its end
      begin_stream(content.source(), chunked);
    } else {
      env_.output.add(std::move(content));
    }
  } else {
    static_cast<void>(x.response.take_content());  // lets go of a source that nobody will ask
  }
  if (x.counted_ && !stream_) {
    if (x.how() == verdict::trapped) {
      env_.counters.trapped.add();
    } else if (x.how() == verdict::aborted) {
      env_.counters.aborted.add();
    } else {
      ++unsent_responses_;
    }
  }
  if (!last) return;
  close_after_ = true;
  drop_exchanges();  // asked after the one that closes: RFC 9112 section 9.6
}

void connection_core::answer_queue() {
  while (first_ != nullptr && first_->answered() && !stream_) {
    exchange* x = first_;
    const exchange_ref mine(*x);
    first_ = x->next_in_line_;
    if (first_ == nullptr) last_ = nullptr;
    x->references_.fetch_sub(1, std::memory_order_relaxed);  // the queue's
    answer_in_turn(*x);
  }
  if (first_ == nullptr && !stream_) say_continue();
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
  if (first_ == nullptr && !stream_) return answer_in_turn(*x);
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

}  // namespace bulkhead::actors
