#include <bulkhead/supervision/server_tree.hpp>

#include <optional>

namespace bulkhead::supervision {

namespace {

const char* name_of(restart_type t) {
  switch (t) {
    case restart_type::permanent:
      return "permanent";
    case restart_type::transient:
      return "transient";
    case restart_type::temporary:
      return "temporary";
  }
  return "";
}

const char* name_of(placement p) {
  switch (p) {
    case placement::inline_:
      return "inline";
    case placement::actor:
      return "actor";
    case placement::cell:
      return "cell";
  }
  return "";
}

tree_node shard_node(const actors::serving_shard& s, std::size_t index, bool supervised) {
  tree_node node{.id = std::to_string(index), .kind = "shard", .state = {}};
  node.facts = {{"connections", std::uint64_t{s.open()}}};
  if (supervised) {  // its children are many and short-lived: they are counted, not listed
    node.children.push_back({.id = "connections",
                             .kind = "supervisor",
                             .state = {},
                             .facts = {{"restart", "temporary"},
                                       {"open", std::uint64_t{s.open()}},
                                       {"faults", s.counters().connection_faults.get()}}});
  }
  return node;
}

}  // namespace

tree_node route_node(const supervised_route& r, bool supervised) {
  const child_spec& spec = r.what.spec;
  const auto number = [](auto n) { return static_cast<std::uint64_t>(n); };
  tree_node node{
      .id = spec.id, .kind = "route", .state = std::string(to_string(r.supervisor->state()))};
  node.facts = {{"placement", name_of(spec.placement)},
                {"strategy", supervised ? "one_for_one" : "none"},
                {"restart", supervised ? name_of(spec.restart) : "none"},
                {"intensity_restarts", number(spec.intensity.restarts)},
                {"intensity_period_ms", number(spec.intensity.period.count())},
                {"faults", r.supervisor->faults()},
                {"restarts", r.supervisor->restarts()}};
  const auto wait = r.supervisor->backing_off();
  if (wait && *wait != route_supervisor::for_good) {
    node.facts.emplace_back("retry_after_ms", number(wait->count()));
  }
  if (supervised && spec.placement == placement::cell) {
    const cell_figures& c = *r.cells;
    node.children.push_back(
        {.id = "workers",
         .kind = "supervisor",
         .state = {},
         .facts = {{"alive", number(c.workers.load(std::memory_order_relaxed))},
                   {"busy", number(c.busy.load(std::memory_order_relaxed))},
                   {"waiting_requests", number(c.waiting.load(std::memory_order_relaxed))},
                   {"forked", c.forked.load(std::memory_order_relaxed)}}});
  }
  return node;
}

tree_node server_tree(const server_parts& parts) {
  tree_node root{.id = "bulkhead", .kind = "server", .state = parts.state};
  root.facts = {{"mode", parts.supervised ? "actor" : "worker"}};
  std::size_t n = 0;
  for (const std::string& address : parts.group.addresses()) {
    root.children.push_back(
        {.id = address,
         .kind = "listener",
         .state = {},
         .facts = {{"protocol", n++ < parts.secure_listeners ? "https" : "http"}}});
  }
  n = 0;
  for (const auto& s : parts.group.shards()) {
    root.children.push_back(shard_node(*s, n++, parts.supervised));
  }
  for (const supervised_route& r : parts.routes.routes()) {
    root.children.push_back(route_node(r, parts.supervised));
  }
  return root;
}

}  // namespace bulkhead::supervision
