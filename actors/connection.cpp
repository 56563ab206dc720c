#include <bulkhead/actors/connection.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::actors {

connection::connection(caf::actor_config& config, environment& env)
    // An answer for each request that may be in flight is always taken: that is the credit which
    // their reply ports hold.
    : bounded_actor(config,
                    std::max(env.settings.mailbox_window, env.settings.limits.pipeline_window),
                    env.counters),
      connection_core(env) {}

// The way back for a handler on another thread.
class connection::port final : public reply_port {
 public:
  explicit port(caf::actor to) : to_(std::move(to)) {}
  void deliver(exchange_ref x, http::response r, verdict v) noexcept override {
    try {
      compat::post(to_, answer_message{std::move(x), std::move(r), v});
    } catch (...) {
      // Out of memory: the connection's drain or its peer ends the wait.
    }
  }

 private:
  caf::actor to_;
};

std::unique_ptr<reply_port> connection::make_reply_port() {
  return std::make_unique<port>(caf::actor_cast<caf::actor>(ctrl()));
}

void connection::on_over(ending how) noexcept {
  terminate(how == ending::fault ? std::move(fault_) : caf::error{});
}

void connection::on_fault(std::exception_ptr why) noexcept {
  fault_ = reason_of(std::move(why));
}

void connection::on_data(caf::mailbox_element& x) {
  auto& answer = compat::get<answer_message>(x);
  const exchange_ref e = std::move(answer.x);
  // The request may have been given up meanwhile: then the answer has no reader.
  if (e->owner() == static_cast<exchange_owner*>(this)) {
    e->answer(std::move(answer.response), answer.how);
  }
}

void connection::on_control(caf::mailbox_element& x) {
  if (compat::holds<drain_message>(x)) drain();
}

// Also reached from outside: an exit message, a link, an exception in a message handler.
void connection::on_terminate(const caf::error&) noexcept {
  abort(ending::stopped);
  if (!self_) return;
  // A stale event of this batch may still point here: the last reference goes after it.
  static_cast<void>(
      caf::actor_cast<caf::strong_actor_ptr>(std::exchange(self_, nullptr)).release());
  home().bury(
      [](void* dead) noexcept {
        auto* self = static_cast<connection*>(dead);
        self->release_session();  // a handler's reply port may keep the actor, on its own thread
        caf::intrusive_ptr_release(self->ctrl());
      },
      this);
}

}  // namespace bulkhead::actors
