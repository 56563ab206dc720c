// The handler instances of one route with placement `actor`: actors on CAF's scheduler, each
// serving one request at a time, under a supervisor actor that replaces those that die.
//
// submit() on any shard; handlers run on the scheduler's threads. This header is free of CAF.
#pragma once

#include <bulkhead/actors/actor_runtime.hpp>
#include <bulkhead/actors/exchange.hpp>
#include <bulkhead/supervision/handler.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>

#include <cstdint>
#include <memory>

namespace bulkhead::supervision {

struct handler_pool_state;

class handler_pool {
 public:
  handler_pool(actors::actor_runtime& on, route_supervisor& supervisor, handler_factory make,
               std::uint32_t instances, std::uint32_t queue);
  ~handler_pool();

  // Once, before the first actor_runtime is made: CAF 1.x wants to know every message type then.
  static void register_messages();

  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;

  // Takes the request, whose answer comes through its connection's reply port; false when too many
  // are waiting already. A request is in the hands of at most one instance: what waits survives
  // the fault of another.
  [[nodiscard]] bool submit(actors::exchange& x, unsigned shard);

  // Ends the instances; false if one was still busy after `limit`.
  [[nodiscard]] bool stop(runtime::milliseconds limit);

 private:
  std::shared_ptr<handler_pool_state> state_;  // shared with its actors
};

}  // namespace bulkhead::supervision
