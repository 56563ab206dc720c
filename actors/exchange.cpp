#include <bulkhead/actors/exchange.hpp>

namespace bulkhead::actors {

exchange_ref::exchange_ref(exchange& x) noexcept : x_(&x) {
  x.references_.fetch_add(1, std::memory_order_relaxed);
}

exchange_ref::exchange_ref(const exchange_ref& other) noexcept : x_(other.x_) {
  if (x_ != nullptr) x_->references_.fetch_add(1, std::memory_order_relaxed);
}

void exchange_ref::reset() noexcept {
  exchange* x = std::exchange(x_, nullptr);
  if (x == nullptr || x->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The pool belongs to a shard: an exchange whose last holder is another thread is not reused.
  if (runtime::shard* here = runtime::shard::current();
      here != nullptr && x->pool_ != nullptr && x->pool_->shard_ == here) {
    x->pool_->give_back(x);
  } else {
    delete x;
  }
}

void exchange::task_finished(void* self) noexcept {
  static_cast<exchange*>(self)->wake_owner_later();
}

void exchange::wake_owner_later() noexcept {
  references_.fetch_add(1, std::memory_order_relaxed);  // the run queue's
  runtime::shard::current()->schedule(*this);
}

void exchange::run(runtime::shard&) noexcept {
  exchange_ref mine(*this);
  references_.fetch_sub(1, std::memory_order_relaxed);  // the run queue's, now held by `mine`
  if (owner_ == nullptr) return;
  if (answered_) {
    owner_->on_answered(*this);
  } else {
    done_(*this, context_);
  }
}

void exchange::reset() noexcept {
  task_ = {};
  keep_.reset();
  request.reset();
  response = {};
  answered_ = false;
  counted_ = false;
  verdict_ = verdict::completed;
  owner_ = nullptr;
  next_in_line_ = nullptr;
}

exchange_pool::~exchange_pool() {
  for (exchange* x : free_) delete x;
}

exchange_ref exchange_pool::take() {
  if (shard_ == nullptr) shard_ = runtime::shard::current();
  if (free_.empty()) return exchange_ref(*new exchange(this));
  exchange* x = free_.back();
  free_.pop_back();
  return exchange_ref(*x);
}

void exchange_pool::give_back(exchange* x) noexcept {
  if (free_.size() == keep_) {
    delete x;
    return;
  }
  x->reset();
  free_.push_back(x);
}

}  // namespace bulkhead::actors
