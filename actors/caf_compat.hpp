// Everything that differs between CAF 0.17 and CAF 1.x, in one place. Internal: never installed.
#pragma once

#include <bulkhead/runtime/shard.hpp>

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/config.hpp>
#include <caf/default_attachable.hpp>
#include <caf/detail/sync_request_bouncer.hpp>
#include <caf/exit_reason.hpp>
#include <caf/intrusive/lifo_inbox.hpp>
#include <caf/local_actor.hpp>
#include <caf/logger.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/resumable.hpp>
#include <caf/sec.hpp>
#include <caf/system_messages.hpp>

#include <cstddef>
#include <utility>

#if !defined(CAF_VERSION_MAJOR)  // 0.17 calls it CAF_MAJOR_VERSION
#define BULKHEAD_CAF_0_17 1
#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#else
#define BULKHEAD_CAF_0_17 0
#include <caf/init_global_meta_objects.hpp>
#include <caf/scheduler.hpp>
#endif

namespace bulkhead::actors::compat {

#if BULKHEAD_CAF_0_17

using unit = caf::execution_unit;

// What CAF hands resumables to on a shard's thread.
class unit_base : public caf::execution_unit {
 public:
  explicit unit_base(caf::actor_system& system) : caf::execution_unit(&system) {}
  void exec_later(caf::resumable* job) final { run_later(job); }

 protected:
  virtual void run_later(caf::resumable* job) = 0;  // takes over one reference
};

inline void to_scheduler(caf::actor_system& system, caf::resumable* job) {
  system.scheduler().enqueue(job);
}

inline void set_host(caf::actor_config& config, unit* host) {
  config.host = host;
}
[[nodiscard]] inline unit* host_of(const caf::actor_config& config) {
  return config.host;
}

struct inbox_policy {
  using mapped_type = caf::mailbox_element;
  using unique_pointer = caf::mailbox_element_ptr;
};
using inbox = caf::intrusive::lifo_inbox<inbox_policy>;

template <class... Ts>
[[nodiscard]] caf::mailbox_element_ptr element(caf::strong_actor_ptr from, Ts&&... xs) {
  return caf::make_mailbox_element(std::move(from), caf::make_message_id(), {},
                                   std::forward<Ts>(xs)...);
}

// The answer to a request. CAF's own bouncer says the same error whatever it was given.
inline void answer_error(caf::mailbox_element& request, caf::error why) {
  if (!request.sender) return;
  request.sender->enqueue(
      caf::make_mailbox_element(nullptr, request.mid.response_id(), {}, std::move(why)), nullptr);
}

inline void global_initialization() {}
inline constexpr char threads_key[] = "scheduler.max-threads";
inline constexpr char policy_key[] = "scheduler.policy";
// 0.17 reads the policy as an atom.
inline void set_policy_sharing(caf::actor_system_config& config) {
  config.set(policy_key, caf::config_value{caf::atom("sharing")});
}

// A shard's thread must never have a current CAF logger: it would cost a global lock a message
// (caf.md 4.1), and the actor system's destructor would wait for the thread for ever (4.2).
inline void forget_logger() {
  caf::logger::set_current_actor_system(nullptr);
}

// Messages never leave the process: no type needs a number or a wire form.
#define BULKHEAD_BEGIN_MESSAGES(block, first) static_assert(true)
#define BULKHEAD_MESSAGE(block, type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(type)
#define BULKHEAD_END_MESSAGES(block) static_assert(true)
#define BULKHEAD_REGISTER_MESSAGES(block) static_cast<void>(0)

#define BULKHEAD_ENQUEUE_RESULT void
#define BULKHEAD_ENQUEUE_RETURN(x) static_cast<void>(x)
#define BULKHEAD_ADD_REF void intrusive_ptr_add_ref_impl() override
#define BULKHEAD_RELEASE void intrusive_ptr_release_impl() override
#define BULKHEAD_SUBTYPE caf::resumable::subtype_t subtype() const override
#define BULKHEAD_BASE_ENQUEUE using caf::abstract_actor::enqueue

#else

using unit = caf::scheduler;

class unit_base : public caf::scheduler {
 public:
  explicit unit_base(caf::actor_system& system) : system_(system) {}
  caf::actor_system& system() const { return system_; }
  void schedule(caf::resumable* job) final { run_later(job); }
  void delay(caf::resumable* job) final { run_later(job); }
  void start() final {}
  void stop() final {}

 protected:
  virtual void run_later(caf::resumable* job) = 0;

 private:
  caf::actor_system& system_;
};

inline void to_scheduler(caf::actor_system& system, caf::resumable* job) {
  system.scheduler().schedule(job);
}

inline void set_host(caf::actor_config& config, unit* host) {
  config.sched = host;
}
[[nodiscard]] inline unit* host_of(const caf::actor_config& config) {
  return config.sched;
}

using inbox = caf::intrusive::lifo_inbox<caf::mailbox_element>;

template <class... Ts>
[[nodiscard]] caf::mailbox_element_ptr element(caf::strong_actor_ptr from, Ts&&... xs) {
  return caf::make_mailbox_element(std::move(from), caf::make_message_id(),
                                   std::forward<Ts>(xs)...);
}

inline void answer_error(caf::mailbox_element& request, caf::error why) {
  if (!request.sender) return;
  request.sender->enqueue(
      caf::make_mailbox_element(nullptr, request.mid.response_id(), std::move(why)), nullptr);
}

inline void global_initialization() {
  caf::core::init_global_meta_objects();
}
inline constexpr char threads_key[] = "caf.scheduler.max-threads";
inline constexpr char policy_key[] = "caf.scheduler.policy";
inline void set_policy_sharing(caf::actor_system_config& config) {
  config.set(policy_key, "sharing");
}
inline void forget_logger() {}

// Each message type has a number, announced before the first actor system is made.
#define BULKHEAD_BEGIN_MESSAGES(block, first) \
  CAF_BEGIN_TYPE_ID_BLOCK(block, first)       \
  static_assert(true)
#define BULKHEAD_MESSAGE(block, type) \
  CAF_ADD_TYPE_ID(block, (type))      \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(type)
#define BULKHEAD_END_MESSAGES(block) \
  CAF_END_TYPE_ID_BLOCK(block)       \
  static_assert(true)
#define BULKHEAD_REGISTER_MESSAGES(block) caf::init_global_meta_objects<caf::id_block::block>()

#define BULKHEAD_ENQUEUE_RESULT bool
#define BULKHEAD_ENQUEUE_RETURN(x) return x
#define BULKHEAD_ADD_REF void ref_resumable() const noexcept override
#define BULKHEAD_RELEASE void deref_resumable() const noexcept override
#define BULKHEAD_SUBTYPE caf::resumable::subtype_t subtype() const noexcept override
#define BULKHEAD_BASE_ENQUEUE static_assert(true)

#endif

// The only ways in which the runtime sends: the same on both.
template <class... Ts>
void post(const caf::actor& to, Ts&&... xs) {
  if (to) to->enqueue(element(nullptr, std::forward<Ts>(xs)...), nullptr);
}

inline void post_exit(const caf::actor& to, caf::error why) {
  post(to, caf::exit_msg{caf::actor_addr{}, std::move(why)});
}

// Whether the message is exactly one T.
template <class T>
[[nodiscard]] bool holds(caf::mailbox_element& x) {
  return x.content().template match_elements<T>();
}

template <class T>
[[nodiscard]] T& get(caf::mailbox_element& x) {
  return x.content().template get_mutable_as<T>(0);
}

}  // namespace bulkhead::actors::compat
