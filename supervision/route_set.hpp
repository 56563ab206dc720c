// The routes of a running server: the table, and a supervisor (and pool) for each.
//
// Immutable once built, except for what the supervisors keep; shared by all shards.
#pragma once

#include <bulkhead/actors/actor_runtime.hpp>
#include <bulkhead/http/route_table.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/cell_pool.hpp>
#include <bulkhead/supervision/handler_pool.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>
#include <bulkhead/supervision/router.hpp>
#include <bulkhead/supervision/thread_budget.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bulkhead::supervision {

// What may be lost to handlers that overrun their deadline.
struct abandonment {
  std::uint32_t threads = 64;
  std::function<void(bool exhausted)> on_change = {};  // any thread; see thread_budget
};

struct supervised_route {
  route what;
  std::unique_ptr<route_supervisor> supervisor;
  std::unique_ptr<handler_pool> pool;   // placement actor only
  std::unique_ptr<cell_figures> cells;  // of the pools of all shards; placement cell only
};

// What the factory of a route makes at the start; an exception that it throws is thrown on, with
// the route's name before its text.
[[nodiscard]] std::shared_ptr<handler> first_instance(const supervised_route& r);

class route_set {
 public:
  // Fails on a bad pattern or child spec, naming it. `actors` is null in worker mode, where
  // placement `actor` runs inline.
  [[nodiscard]] static result<std::unique_ptr<route_set>> make(const router& r,
                                                               const runtime::clock& time,
                                                               ledger& faults,
                                                               actors::actor_runtime* actors,
                                                               abandonment late = {});

  route_set(ledger& faults, abandonment late);  // empty; see make()

  [[nodiscard]] const http::route_table& table() const noexcept { return table_; }
  [[nodiscard]] const std::vector<supervised_route>& routes() const noexcept { return routes_; }
  [[nodiscard]] std::uint64_t restarts() const noexcept;
  // Threads that late handlers hold at this moment.
  [[nodiscard]] std::uint32_t abandoned_threads() const noexcept { return threads_.taken(); }
  [[nodiscard]] ledger& faults() const noexcept { return faults_; }
  // False if a handler was still busy after `limit`.
  [[nodiscard]] bool stop(runtime::milliseconds limit);

 private:
  ledger& faults_;
  thread_budget threads_;
  http::route_table table_;
  std::vector<supervised_route> routes_;
};

}  // namespace bulkhead::supervision
