// The admin listener: what the server says about itself, as JSON over plain HTTP.
//
// Served by a shard of its own, so that it answers while the others are busy.
#pragma once

#include <bulkhead/actors/dispatcher.hpp>

#include <functional>
#include <string>

namespace bulkhead::supervision {

// Where the answers come from; called on the admin shard.
struct admin_sources {
  std::function<bool()> ready;
  std::function<std::string()> counters;  // one JSON object
  std::function<std::string()> faults;
  std::function<std::string()> tree;
};

// GET /live: 200 as long as the process answers. GET /ready: 200, or 503 before start and from the
// first moment of a stop. GET /counters, /faults, /tree.
class admin_dispatcher final : public actors::dispatcher {
 public:
  explicit admin_dispatcher(admin_sources sources) : sources_(std::move(sources)) {}
  void dispatch(actors::exchange& x) override;

 private:
  admin_sources sources_;
};

}  // namespace bulkhead::supervision
