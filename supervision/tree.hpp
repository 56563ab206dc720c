// The supervision tree as a plain value, and how it is shown: as JSON, and drawn as text.
//
// A part of the server that has children describes itself with such a node; it need know nothing
// of how it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bulkhead::supervision {

struct tree_node {
  using fact = std::variant<std::string, std::uint64_t>;

  std::string id;     // among its siblings of that kind
  std::string kind;   // "server", "listener", "shard", "route", ...
  std::string state;  // "running", "backing_off", ...; empty: it has none
  std::vector<std::pair<std::string, fact>> facts = {};
  std::vector<tree_node> children = {};
};

// {"id":...,"kind":...,"state":...,FACTS,"children":[...]}, on one line; a fact's name is a key
// beside the others, so it must be none of these four.
[[nodiscard]] std::string tree_json(const tree_node& root);

// A line a node: kind, id, [state], facts. Ends with a line feed.
[[nodiscard]] std::string tree_text(const tree_node& root);

}  // namespace bulkhead::supervision
