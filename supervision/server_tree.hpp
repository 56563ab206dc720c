// The tree of a running server: who supervises whom, and how it fares.
//
// Any thread; what is read are counters and atomics.
#pragma once

#include <bulkhead/actors/serving_group.hpp>
#include <bulkhead/supervision/route_set.hpp>
#include <bulkhead/supervision/tree.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bulkhead::supervision {

struct server_parts {
  const actors::serving_group& group;
  const route_set& routes;
  bool supervised = true;            // false in worker mode
  std::string state;                 // of the server: "ready", or why it is not
  std::size_t secure_listeners = 0;  // they come first in the group's addresses
};

[[nodiscard]] tree_node server_tree(const server_parts& parts);

// Where a route's own children will go: instances, cells.
[[nodiscard]] tree_node route_node(const supervised_route& r, bool supervised);

// The names of route_state, for the metrics.
inline constexpr std::array<std::string_view, 4> route_states = {"in_service", "backing_off",
                                                                 "probing", "stopped"};

}  // namespace bulkhead::supervision
