// The smallest real CAF actor: a handle, a mailbox, monitors, links, exit and down messages, and
// nothing else. Internal: never installed.
//
// Pinned to one shard: whoever sends, the message is handled on the shard's thread. Costs 320 bytes
// and one allocation; caf::event_based_actor costs 1,360 and three.
#pragma once

#include <bulkhead/actors/shard_unit.hpp>

#include <caf/actor_traits.hpp>
#include <caf/behavior.hpp>

#include <exception>

namespace bulkhead::actors {

class slim_actor : public caf::local_actor,
                   public caf::resumable,
                   public caf::non_blocking_actor_base,
                   public caf::dynamically_typed_actor_base,
                   private runtime::runnable {
 public:
  using behavior_type = caf::behavior;
  using signatures = caf::none_t;

  // `config` must name a shard_unit as its host.
  explicit slim_actor(caf::actor_config& config);
  ~slim_actor() override;

  [[nodiscard]] runtime::shard& home() const noexcept { return unit_->shard(); }
  [[nodiscard]] bool alive() const noexcept { return !dead_; }

  // -- caf::abstract_actor: any thread -----------------------------------------------------------

  BULKHEAD_BASE_ENQUEUE;
  BULKHEAD_ENQUEUE_RESULT enqueue(caf::mailbox_element_ptr x, compat::unit*) override {
    const bool delivered = deliver(std::move(x));
    BULKHEAD_ENQUEUE_RETURN(delivered);
  }

  // -- caf::local_actor, caf::resumable

  void launch(compat::unit* from, bool lazy, bool hide) override;
  BULKHEAD_SUBTYPE { return io_actor; }
  BULKHEAD_ADD_REF { caf::intrusive_ptr_add_ref(ctrl()); }
  BULKHEAD_RELEASE { caf::intrusive_ptr_release(ctrl()); }
  resume_result resume(compat::unit* on, std::size_t max_messages) override;
#if BULKHEAD_CAF_0_17
  // Not local_actor's: that one wakes CAF's clock thread at each termination (caf.md 4.3).
  bool cleanup(caf::error&& why, compat::unit* on) override;
#endif

  // -- for what runs on the shard

  // Ends the actor: refuses what is queued, tells monitors and links. On the shard's thread.
  void terminate(caf::error why) noexcept;

 protected:
  // Puts the message into the mailbox; false when the actor is dead. Any thread.
  bool deliver(caf::mailbox_element_ptr x);
  // A message that was in the mailbox when the actor died.
  virtual void on_refused(caf::mailbox_element& x) noexcept {
    static_cast<void>(x);
  }

  virtual void on_message(caf::mailbox_element& x) = 0;
  // A linked actor or someone with authority asks for the end; exit_reason::kill never comes here.
  virtual void on_exit_message(caf::exit_msg& x) {
    if (x.reason) terminate(std::move(x.reason));
  }
  virtual void on_down_message(caf::down_msg& x) {
    static_cast<void>(x);
  }
  // Just before monitors hear of it. Strong handles to others are dropped here: they are cycles
  // that would survive the end (caf.md 4.9).
  virtual void on_terminate(const caf::error& why) noexcept {
    static_cast<void>(why);
  }

  // The exception as an exit reason that keeps its text (CAF's own handler prints it through an
  // actor and loses it, caf.md 4.6).
  [[nodiscard]] static caf::error reason_of(std::exception_ptr thrown) noexcept;

 private:
  void run(runtime::shard& on) noexcept override;
  void dispatch(caf::mailbox_element& x);
  void refuse_mailbox() noexcept;
  [[nodiscard]] bool fetch() noexcept;
  void drop_head() noexcept;
#if !BULKHEAD_CAF_0_17
  void force_close_mailbox() override {
    refuse_mailbox();
  }
  void do_unstash(caf::mailbox_element_ptr) override {}
#endif

  compat::inbox inbox_;
  caf::mailbox_element* head_ = nullptr;
  shard_unit* unit_;
  bool dead_ = false;
};

// Makes an actor on a shard's unit, hidden and lazy: an actor without messages costs the run queue
// nothing, and does not keep the actor system alive. On any thread; leaves no logger behind, as
// actor_system::spawn would (caf.md 4.1, 4.2).
template <class T, class... Ts>
[[nodiscard]] caf::actor spawn_on(shard_unit& unit, Ts&&... xs) {
  caf::actor_config config;
  compat::set_host(config, &unit);
  caf::actor_system& system = unit.system();
  auto made = caf::make_actor<T, caf::actor>(system.next_actor_id(), system.node(), &system, config,
                                             std::forward<Ts>(xs)...);
  caf::actor_cast<T*>(made)->launch(&unit, /*lazy=*/true, /*hide=*/true);
  return made;
}

// `watcher` gets a down_msg when `watched` ends; without a message round trip. Any thread.
inline void monitor(const caf::actor& watched, const caf::actor& watcher) {
  watched->attach(caf::default_attachable::make_monitor(watched->address(), watcher->address()));
}

}  // namespace bulkhead::actors
