// What a handler pool shares with its actors: who waits, who is idle, who is late. Internal: never
// installed.
//
// Any thread. The mutex guards what follows it.
#pragma once

#include <bulkhead/supervision/handler.hpp>
#include <bulkhead/supervision/pooled_call.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>
#include <bulkhead/supervision/thread_budget.hpp>

#include <caf/actor.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace bulkhead::supervision {

struct handler_pool_state {
  handler_pool_state(route_supervisor& s, handler_factory m, thread_budget& t, std::uint32_t n)
      : supervisor(s), make(std::move(m)), threads(t), size(n) {}

  route_supervisor& supervisor;
  const handler_factory make;
  thread_budget& threads;
  const std::uint32_t size;
  // Instances that may be abandoned have a thread each, which is lost with them and no other; the
  // others share the scheduler's.
  const bool own_threads = supervisor.spec().deadline > std::chrono::milliseconds(0);

  std::mutex mutex;
  std::condition_variable ended;
  std::deque<call_ptr> waiting;
  std::vector<caf::actor> idle;
  std::uint32_t alive = 0;
  // Instances that overran their deadline and have not come back: no longer in `alive`, except for
  // the last `unreplaced` of them, for which the budget had no other thread.
  std::vector<std::uint64_t> late;
  std::uint32_t unreplaced = 0;
  bool filling = false;  // the supervisor actor is making instances
  bool stopping = false;
  caf::actor supervisor_actor;

  [[nodiscard]] bool quiet() const noexcept { return alive == 0 && late.empty() && !filling; }

  // What an instance does next: `serve` fills `out`.
  enum class step : std::uint8_t { serve, idle, quit };
  [[nodiscard]] step next(const caf::actor& instance, call_ptr& out);
  // With the lock held: the next that waits and is not over, begun by `instance`; or null.
  [[nodiscard]] call_ptr next_waiting(const caf::actor& instance);
  // Nobody will serve these before the back-off is over.
  void turn_away_waiting();

  // -- an instance overruns its deadline

  // Claims the call for the one who watches the deadline; where it was found. True in `abandoned`
  // if an instance was serving it.
  [[nodiscard]] pooled_call::stage give_up(pooled_call& c);
  // The instance has come back after all; true if the pool has one too few now.
  [[nodiscard]] bool came_back();
  // With the lock held: threads that came back replace those that could not be before. True if the
  // pool has too few instances now.
  [[nodiscard]] bool replace_late();
  // The instance has ended.
  void ended_instance(std::uint64_t id);
};

}  // namespace bulkhead::supervision
