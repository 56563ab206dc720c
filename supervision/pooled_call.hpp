// One request in the hands of a handler pool, from its submission to its answer.
//
// Shared by the pool, the instance that serves it and the shard that watches its deadline. They may
// all want to answer it; claim() lets one of them.
#pragma once

#include <bulkhead/actors/exchange.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace bulkhead::supervision {

class pooled_call {
 public:
  enum class stage : std::uint8_t {
    waiting,  // in the pool's queue
    running,  // in the hands of an instance
    over,     // somebody has answered, or is about to
  };

  pooled_call(actors::exchange_ref x, std::unique_ptr<actors::reply_port> reply, unsigned shard)
      : x_(std::move(x)), reply_(std::move(reply)), shard_(shard) {}
  pooled_call(const pooled_call&) = delete;
  pooled_call& operator=(const pooled_call&) = delete;
  ~pooled_call() = default;

  // Until it is over. An instance may read the request for as long as it holds the call, also when
  // another has claimed it; nobody writes to it meanwhile.
  [[nodiscard]] const http::request& request() const noexcept { return x_->request; }
  [[nodiscard]] unsigned shard() const noexcept { return shard_; }
  [[nodiscard]] stage at() const noexcept { return stage_.load(std::memory_order_acquire); }

  // Given to an instance; false when it is over already. Under the pool's lock, as instance().
  [[nodiscard]] bool begin(std::uint64_t instance) noexcept {
    instance_ = instance;
    stage expected = stage::waiting;
    return stage_.compare_exchange_strong(expected, stage::running, std::memory_order_acq_rel);
  }
  [[nodiscard]] std::uint64_t instance() const noexcept { return instance_; }

  // The right to answer: true for the first who asks. Then one of the two below.
  [[nodiscard]] bool claim() noexcept {
    return stage_.exchange(stage::over, std::memory_order_acq_rel) != stage::over;
  }
  // From another thread, through the connection's mailbox.
  void deliver(http::response r, actors::verdict how) noexcept {
    const auto way_back = std::move(reply_);
    way_back->deliver(std::move(x_), std::move(r), how);
  }
  // On the shard. Lets go of the connection, but not of the request, which the instance may be
  // reading for ever.
  [[nodiscard]] actors::exchange_ref take_over() noexcept {
    reply_.reset();
    return x_;
  }

 private:
  actors::exchange_ref x_;
  std::unique_ptr<actors::reply_port> reply_;
  std::uint64_t instance_ = 0;
  unsigned shard_;
  std::atomic<stage> stage_{stage::waiting};
};

using call_ptr = std::shared_ptr<pooled_call>;

}  // namespace bulkhead::supervision
