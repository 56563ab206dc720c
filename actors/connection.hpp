// A connection as an actor: one TCP or TLS session, pinned to its shard. Internal: never installed.
//
// Socket events are handled inline, without a mailbox trip; what other actors want arrives as
// messages. An exception becomes the actor's exit reason and costs this connection only.
#pragma once

#include <bulkhead/actors/bounded_actor.hpp>
#include <bulkhead/actors/connection_core.hpp>
#include <bulkhead/actors/messages.hpp>

#include <memory>

namespace bulkhead::actors {

class connection final : public bounded_actor, public connection_core {
 public:
  connection(caf::actor_config& config, environment& env);

  // The holder of the last strong reference gives it up after the loop's batch.
  void keep_alive_by(caf::actor self) { self_ = std::move(self); }

 private:
  class port;

  // -- connection_core
  void on_over(ending how) noexcept override;
  void on_fault(std::exception_ptr why) noexcept override;
  [[nodiscard]] std::unique_ptr<reply_port> make_reply_port() override;

  // -- bounded_actor
  [[nodiscard]] bool is_data(caf::mailbox_element& x) const override {
    return compat::holds<answer_message>(x);
  }
  void on_data(caf::mailbox_element& x) override;
  void on_control(caf::mailbox_element& x) override;
  void on_terminate(const caf::error& why) noexcept override;

  caf::error fault_;
  caf::actor self_;
};

}  // namespace bulkhead::actors
