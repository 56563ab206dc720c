// The handler instances of one route with placement `actor`, each serving one request at a time,
// under a supervisor actor that replaces those that die or overrun their deadline.
//
// submit() on any shard; handlers run on the scheduler's threads, those with a deadline on threads
// of their own. This header is free of CAF.
#pragma once

#include <bulkhead/actors/actor_runtime.hpp>
#include <bulkhead/actors/exchange.hpp>
#include <bulkhead/supervision/handler.hpp>
#include <bulkhead/supervision/pooled_call.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>
#include <bulkhead/supervision/thread_budget.hpp>

#include <memory>

namespace bulkhead::supervision {

struct handler_pool_state;

class handler_pool {
 public:
  handler_pool(actors::actor_runtime& on, route_supervisor& supervisor, handler_factory make,
               thread_budget& threads);
  ~handler_pool();

  // Once, before the first actor_runtime is made: CAF 1.x wants to know every message type then.
  static void register_messages();

  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;

  // Takes the request, whose answer comes through its connection's reply port; null when too many
  // are waiting already, or the threads that late handlers may hold are used up. A request is in
  // the hands of at most one instance: what waits survives the fault of another.
  [[nodiscard]] call_ptr submit(actors::exchange& x, unsigned shard);

  // The call's time is over: claims it, so that the caller is to answer it, and says where it was.
  // One that waited leaves the queue; one that is running costs its instance, which is abandoned
  // with its thread, and replaced. `over`: it has been answered meanwhile.
  [[nodiscard]] pooled_call::stage give_up(pooled_call& c);

  // Ends the instances; false if one was still busy after `limit`, or is late for ever.
  [[nodiscard]] bool stop(runtime::milliseconds limit);

 private:
  std::shared_ptr<handler_pool_state> state_;  // shared with its actors
};

}  // namespace bulkhead::supervision
