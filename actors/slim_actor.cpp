#include <bulkhead/actors/slim_actor.hpp>

#include <string>

namespace bulkhead::actors {

slim_actor::slim_actor(caf::actor_config& config)
    : caf::local_actor(config), unit_(static_cast<shard_unit*>(compat::host_of(config))) {
  setf(is_initialized_flag);
}

slim_actor::~slim_actor() {
  while (head_ != nullptr) drop_head();
}

bool slim_actor::deliver(caf::mailbox_element_ptr x) {
  const caf::message_id id = x->mid;
  const caf::strong_actor_ptr sender = id.is_request() ? x->sender : nullptr;
  switch (inbox_.push_front(std::move(x))) {
    case caf::intrusive::inbox_result::unblocked_reader:
      // A mailbox schedules its owner once until it blocks again: one run-queue hook is enough.
      caf::intrusive_ptr_add_ref(ctrl());
      home().schedule(*this);
      break;
    case caf::intrusive::inbox_result::queue_closed:
      if (id.is_request()) {
        caf::detail::sync_request_bouncer bounce{caf::make_error(caf::sec::request_receiver_down)};
        bounce(sender, id);
      }
      return false;
    case caf::intrusive::inbox_result::success:
      break;
  }
  return true;
}

void slim_actor::launch(compat::unit*, bool lazy, bool hide) {
  if (!hide) register_at_system();
  if (lazy && inbox_.try_block()) return;
  caf::intrusive_ptr_add_ref(ctrl());
  home().schedule(*this);
}

void slim_actor::run(runtime::shard& on) noexcept {
  if (resume(unit_, shard_unit::throughput) == resume_later) {
    on.schedule(*this);  // keeps its reference
  } else {
    caf::intrusive_ptr_release(ctrl());
  }
}

caf::resumable::resume_result slim_actor::resume(compat::unit*, std::size_t max_messages) {
  for (std::size_t handled = 0; alive();) {
    if (head_ == nullptr && !fetch()) {
      if (inbox_.try_block()) return awaiting_message;
      continue;
    }
    if (handled++ == max_messages) return resume_later;
    const caf::mailbox_element_ptr x{head_};
    head_ = static_cast<caf::mailbox_element*>(x->next);
    try {
      dispatch(*x);
    } catch (...) {
      terminate(reason_of(std::current_exception()));
    }
  }
  return done;
}

void slim_actor::dispatch(caf::mailbox_element& x) {
  if (compat::holds<caf::exit_msg>(x)) {
    auto& message = compat::get<caf::exit_msg>(x);
    if (message.reason == caf::exit_reason::kill) return terminate(std::move(message.reason));
    on_exit_message(message);
  } else if (compat::holds<caf::down_msg>(x)) {
    on_down_message(compat::get<caf::down_msg>(x));
  } else {
    on_message(x);
  }
}

void slim_actor::terminate(caf::error why) noexcept {
  if (dead_) return;
  dead_ = true;
  on_terminate(why);
  refuse_mailbox();
#if BULKHEAD_CAF_0_17
  // Past local_actor's, which wakes the clock's thread for each actor that ends (caf.md 4.3).
  caf::monitorable_actor::cleanup(std::move(why), unit_);  // NOLINT(bugprone-parent-virtual-call)
#else
  caf::abstract_actor::cleanup(std::move(why), unit_);
#endif
}

#if BULKHEAD_CAF_0_17
bool slim_actor::cleanup(caf::error&& why, compat::unit*) {
  if (dead_) return false;
  terminate(std::move(why));
  return true;
}
#endif

caf::error slim_actor::reason_of(std::exception_ptr thrown) noexcept {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& e) {
    return caf::make_error(caf::sec::runtime_error, std::string(e.what()));
  } catch (...) {
    return caf::make_error(caf::sec::runtime_error, std::string("not a std::exception"));
  }
}

// Requests get an error as their answer; everything else is dropped.
void slim_actor::refuse_mailbox() noexcept {
  caf::detail::sync_request_bouncer bounce{caf::make_error(caf::sec::request_receiver_down)};
  if (!inbox_.closed()) {
    auto refuse = [&](caf::mailbox_element* x) {
      const caf::mailbox_element_ptr mine{x};
      on_refused(*mine);
      bounce(*mine);
    };
    inbox_.close(refuse);
  }
  for (; head_ != nullptr; drop_head()) {
    on_refused(*head_);
    bounce(*head_);
  }
}

bool slim_actor::fetch() noexcept {
  auto* newest = static_cast<caf::mailbox_element*>(inbox_.take_head());
  while (newest != nullptr) {  // LIFO to FIFO
    auto* next = static_cast<caf::mailbox_element*>(newest->next);
    newest->next = head_;
    head_ = newest;
    newest = next;
  }
  return head_ != nullptr;
}

void slim_actor::drop_head() noexcept {
  const caf::mailbox_element_ptr x{head_};
  head_ = static_cast<caf::mailbox_element*>(x->next);
}

}  // namespace bulkhead::actors
