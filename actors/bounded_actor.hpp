// A slim actor whose mailbox cannot outgrow its window. Internal: never installed.
//
// Credit is permission to send. Senders of data hold it and get it back when the message is
// handled; the bound here is the defence against those who do not: what is over the window is
// refused and counted, and a request is answered with an error. Control messages (exit, down,
// drain) are always admitted, so that supervision works at the limit.
#pragma once

#include <bulkhead/actors/counters.hpp>
#include <bulkhead/actors/slim_actor.hpp>

#include <atomic>
#include <cstdint>

namespace bulkhead::actors {

class bounded_actor : public slim_actor {
 public:
  bounded_actor(caf::actor_config& config, std::uint32_t window, shard_counters& counters)
      : slim_actor(config), counters_(counters), window_(window) {}

  [[nodiscard]] std::uint32_t queued() const noexcept {
    return queued_.load(std::memory_order_relaxed);
  }

  BULKHEAD_BASE_ENQUEUE;
  BULKHEAD_ENQUEUE_RESULT enqueue(caf::mailbox_element_ptr x, compat::unit*) override {
    const bool admitted = admit(std::move(x));
    BULKHEAD_ENQUEUE_RETURN(admitted);
  }

 protected:
  // Data draws on the window; what answers false here is control.
  [[nodiscard]] virtual bool is_data(caf::mailbox_element& x) const = 0;
  virtual void on_data(caf::mailbox_element& x) = 0;
  virtual void on_control(caf::mailbox_element& x) = 0;

 private:
  [[nodiscard]] static bool is_system(caf::mailbox_element& x) {
    return compat::holds<caf::exit_msg>(x) || compat::holds<caf::down_msg>(x);
  }
  bool admit(caf::mailbox_element_ptr x);
  void on_refused(caf::mailbox_element& x) noexcept final;
  void on_message(caf::mailbox_element& x) final;

  shard_counters& counters_;
  std::atomic<std::uint32_t> queued_{0};
  std::uint32_t window_;
};

}  // namespace bulkhead::actors
