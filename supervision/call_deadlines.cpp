#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/call_deadlines.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace bulkhead::supervision {

namespace {

constexpr std::size_t least_kept = 64;

}  // namespace

call_deadlines::call_deadlines(handler_pool& pool, const child_spec& spec, unsigned shard,
                               ledger& faults)
    : pool_(pool), spec_(spec), ledger_(faults), shard_(shard), forget_at_(least_kept) {}

void call_deadlines::watch(call_ptr c) {
  if (home_ == nullptr) home_ = runtime::shard::current();
  if (calls_.size() >= forget_at_) forget_answered();
  const auto due = home_->now() + spec_.deadline;
  calls_.push_back({due, std::move(c)});
  if (!timer_.armed()) home_->timers().arm(timer_, due);
}

// Most are answered long before they are due. What is kept is at most twice what is open.
void call_deadlines::forget_answered() {
  std::erase_if(calls_, [](const entry& e) { return e.call->at() == pooled_call::stage::over; });
  forget_at_ = std::max(least_kept, 2 * calls_.size());
}

void call_deadlines::timer_expired(void* self) noexcept {
  try {
    static_cast<call_deadlines*>(self)->expire();
  } catch (const std::exception& e) {
    // Out of memory: what is left expires with the next request's timer.
    runtime::log::error("deadline", e.what());
  }
}

void call_deadlines::expire() {
  overdue in_queue;
  while (!calls_.empty()) {
    entry& next = calls_.front();
    const bool over = next.call->at() == pooled_call::stage::over;
    if (!over && next.due > home_->now()) break;
    const call_ptr c = std::move(next.call);
    calls_.pop_front();  // an answer may bring the next request here
    if (!over) expire(*c, in_queue);
  }
  if (!calls_.empty()) home_->timers().arm(timer_, calls_.front().due);
  if (in_queue.requests != 0) report(in_queue);
}

void call_deadlines::expire(pooled_call& c, overdue& in_queue) {
  const auto was = pool_.give_up(c);
  if (was == pooled_call::stage::over) return;  // answered in this very moment
  const actors::exchange_ref x = c.take_over();
  if (was == pooled_call::stage::waiting && in_queue.requests++ == 0) {
    in_queue.first = place_of(x->request, shard_);
  }
  if (x->owner() == nullptr) return;  // the client did not wait for it
  x->answer(unavailable(std::chrono::seconds(1)), actors::verdict::aborted);
}

void call_deadlines::report(const overdue& in_queue) {
  ledger_.record({.when = home_->time().wall(),
                  .child = spec_.id,
                  .kind = "deadline",
                  .what = std::to_string(in_queue.requests) + " waited longer than " +
                          std::to_string(spec_.deadline.count()) + " ms for a free instance",
                  .route = in_queue.first.route,
                  .request = in_queue.first.request,
                  .shard = shard_,
                  .action = "answered 503"});
}

}  // namespace bulkhead::supervision
