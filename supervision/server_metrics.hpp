// What the server counts, as the page that Prometheus scrapes.
//
// Two steps, so that the page is a pure function of plain figures: collect() on any thread, then
// metrics_page().
#pragma once

#include <bulkhead/actors/counters.hpp>
#include <bulkhead/actors/serving_group.hpp>
#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/route_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::supervision {

struct route_figures {
  std::string route;  // "GET /users/:id": no two routes share it, but they may share a child id
  std::string child;
  std::string state;  // a word of route_states
  std::uint64_t faults = 0;
  std::uint64_t restarts = 0;
};

struct server_figures {
  actors::counters_snapshot counters;
  std::vector<std::uint64_t> shard_connections;  // open ones, by shard
  std::vector<route_figures> routes;
  fault_totals faults;
  std::size_t ledger_capacity = 0;
  std::uint64_t log_lines_dropped = 0;
  std::vector<std::string> not_ready;  // the reasons
  runtime::wall_time process_start{};
  std::string mode = "actor";
};

// Shards, routes and the log; the caller knows the rest.
void collect(server_figures& into, const actors::serving_group& group, const route_set& routes);

[[nodiscard]] std::string metrics_page(const server_figures& f);

}  // namespace bulkhead::supervision
