#include <bulkhead/runtime/memory_transport.hpp>

#include <algorithm>

namespace bulkhead::runtime {

namespace {
constexpr auto no_limit = static_cast<std::size_t>(-1);
}

// Everything that a callback may outlive is in the wire, so that disposing of this is always safe.
class memory_wire::end_point final : public transport {
 public:
  end_point(memory_wire& wire, transport_events& events) : wire_(wire), events_(events) {}

  [[nodiscard]] bool send(block bytes) noexcept override {
    ++wire_.sends_;
    if (wire_.reset_) return true;
    put(bytes);
    if (bytes.empty()) return true;
    unsent_ = std::move(bytes);
    return false;
  }

  void pause_receiving() noexcept override { wire_.paused_ = true; }

  void resume_receiving() noexcept override {
    wire_.paused_ = false;
    wire_.pass_on();  // last: the owner may dispose of us
  }

  void shutdown_send() noexcept override {
    if (unsent_) {
      fin_follows_ = true;
    } else {
      wire_.finished_ = true;
    }
  }

  void dispose(bool abort) noexcept override {
    wire_.end_ = nullptr;
    wire_.finished_ = true;
    wire_.aborted_ = abort || static_cast<bool>(unsent_);
    delete this;
  }

  [[nodiscard]] transport_events& events() noexcept { return events_; }
  [[nodiscard]] bool stuck() const noexcept { return static_cast<bool>(unsent_); }
  void discard() noexcept { unsent_ = block(); }

  // Answers whether all that was stuck is out.
  [[nodiscard]] bool put_stuck() noexcept {
    put(unsent_);
    if (!unsent_.empty()) return false;
    unsent_ = block();
    if (fin_follows_) wire_.finished_ = true;
    return true;
  }

 private:
  void put(block& bytes) noexcept {
    const auto rest = bytes.bytes();
    const std::size_t n = std::min(rest.size(), wire_.window_);
    wire_.sent_.append(reinterpret_cast<const char*>(rest.data()), n);
    bytes.consume(n);
    if (wire_.window_ != no_limit) wire_.window_ -= n;
  }

  memory_wire& wire_;
  transport_events& events_;
  block unsent_;
  bool fin_follows_ = false;
};

transport_ptr memory_wire::open(transport_events& events) {
  auto* opened = new end_point(*this, events);
  end_ = opened;
  held_.clear();
  fin_held_ = fin_said_ = reset_ = false;
  opened_ = true;
  finished_ = aborted_ = paused_ = false;
  return transport_ptr(opened);
}

void memory_wire::deliver(std::string_view bytes) {
  if (end_ == nullptr || reset_ || fin_held_) return;
  held_.append(bytes);
  pass_on();
}

void memory_wire::end(receive_end how) {
  if (end_ == nullptr || reset_) return;
  if (how == receive_end::fin) {
    fin_held_ = true;
    pass_on();
    return;
  }
  reset_ = true;
  held_.clear();
  end_->discard();
  end_->events().on_receive_end(receive_end::reset);
}

void memory_wire::open_window(std::size_t bytes) {
  window_ = bytes > no_limit - window_ ? no_limit : window_ + bytes;
  if (end_ == nullptr || !end_->stuck() || !end_->put_stuck()) return;
  end_->events().on_sent();
}

void memory_wire::pass_on() {
  if (passing_) return;  // the outer call goes on where the owner resumed
  passing_ = true;
  while (end_ != nullptr && !paused_ && !reset_ && !held_.empty()) {
    const std::string bytes = std::exchange(held_, {});
    end_->events().on_received(std::as_bytes(std::span(bytes)));
  }
  if (end_ != nullptr && !paused_ && !reset_ && fin_held_ && !fin_said_) {
    fin_said_ = true;
    end_->events().on_receive_end(receive_end::fin);
  }
  passing_ = false;
}

}  // namespace bulkhead::runtime
