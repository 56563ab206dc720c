// A connection's way out: one record and one write for what a turn produced.
#include <bulkhead/actors/connection_core.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace bulkhead::actors {

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
  while (stream_ && !backlog_ && !sending_ && !over() && fill_from_stream()) {
    if (!env_.output.drain(take) && !over()) {
      backlog_ = std::make_unique<backlog>();
      backlog_->take_rest(env_.output);
    }
    env_.output.clear();
  }
  if (over()) return;
  if (close_after_ && !backlog_ && !stream_ && !close_sent_) {
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
  if (!close_after_ || stream_) return set_deadline();
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

}  // namespace bulkhead::actors
