// The deadlines of one route's requests on one shard: who is late is answered with 503.
//
// Lives on the shard. All have the same time, so they become due in the order in which they came:
// one timer for all of them, and a request that is answered in time touches none.
#pragma once

#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/supervision/handler_pool.hpp>
#include <bulkhead/supervision/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace bulkhead::supervision {

class call_deadlines {
 public:
  call_deadlines(handler_pool& pool, const child_spec& spec, unsigned shard, ledger& faults);
  call_deadlines(const call_deadlines&) = delete;
  call_deadlines& operator=(const call_deadlines&) = delete;
  ~call_deadlines() = default;

  // Just submitted. On the shard's thread.
  void watch(call_ptr c);

 private:
  struct entry {
    runtime::steady_time due;
    call_ptr call;
  };
  // What waited for an instance in vain, of one batch: an overload is one entry of the ledger.
  struct overdue {
    std::uint64_t requests = 0;
    route_supervisor::place first = {};
  };

  static void timer_expired(void* self) noexcept;
  void expire();
  void expire(pooled_call& c, overdue& in_queue);
  void report(const overdue& in_queue);
  void forget_answered();

  handler_pool& pool_;
  const child_spec& spec_;
  ledger& ledger_;
  unsigned shard_;
  runtime::shard* home_ = nullptr;
  std::deque<entry> calls_;
  std::size_t forget_at_;
  runtime::timer timer_{&call_deadlines::timer_expired, this};
};

}  // namespace bulkhead::supervision
