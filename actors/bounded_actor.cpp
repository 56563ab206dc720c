#include <bulkhead/actors/bounded_actor.hpp>

namespace bulkhead::actors {

bool bounded_actor::admit(caf::mailbox_element_ptr x) {
  if (is_system(*x) || !is_data(*x)) return deliver(std::move(x));
  counters_.messages_sent.add();
  if (queued_.fetch_add(1, std::memory_order_relaxed) >= window_) {
    queued_.fetch_sub(1, std::memory_order_relaxed);
    counters_.messages_refused.add();
    if (x->mid.is_request()) {
      compat::answer_error(
          *x, caf::make_error(caf::sec::runtime_error, std::string("mailbox window exceeded")));
    }
    return false;
  }
  counters_.messages_queued.add();
  if (deliver(std::move(x))) return true;
  counters_.messages_queued.subtract();
  queued_.fetch_sub(1, std::memory_order_relaxed);
  counters_.messages_refused.add();
  return false;
}

void bounded_actor::on_refused(caf::mailbox_element& x) noexcept {
  if (is_system(x) || !is_data(x)) return;
  queued_.fetch_sub(1, std::memory_order_relaxed);
  counters_.messages_queued.subtract();
  counters_.messages_refused.add();
}

void bounded_actor::on_message(caf::mailbox_element& x) {
  if (!is_data(x)) return on_control(x);
  queued_.fetch_sub(1, std::memory_order_relaxed);
  counters_.messages_queued.subtract();
  counters_.messages_handled.add();
  on_data(x);
}

}  // namespace bulkhead::actors
