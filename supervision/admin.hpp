// The admin pages: what the server says about itself, as JSON and as text, over plain HTTP.
//
// Served by a shard of its own (admin_listener), so that it answers while the others are busy.
#pragma once

#include <bulkhead/actors/dispatcher.hpp>
#include <bulkhead/http/request.hpp>
#include <bulkhead/http/response.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/tree.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bulkhead::supervision {

// Where the answers come from; called on the admin shard.
struct admin_sources {
  std::function<bool()> live;
  std::function<std::vector<std::string>()> not_ready;  // the reasons; empty: ready
  std::function<std::string()> counters;                // one JSON object
  const ledger* faults = nullptr;
  std::function<tree_node()> tree;
  std::function<std::string()> metrics;
};

// GET / lists the pages. /faults and /tree are JSON, or text for who accepts that rather; with
// ".txt" they are text for everyone.
class admin_dispatcher final : public actors::dispatcher {
 public:
  explicit admin_dispatcher(admin_sources sources) : sources_(std::move(sources)) {}
  void dispatch(actors::exchange& x) override;

 private:
  [[nodiscard]] http::response page(const http::request& r) const;
  [[nodiscard]] http::response live() const;
  [[nodiscard]] http::response ready() const;
  [[nodiscard]] http::response faults(const http::request& r, bool as_text) const;

  admin_sources sources_;
};

}  // namespace bulkhead::supervision
