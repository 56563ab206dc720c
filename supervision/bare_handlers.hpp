// The worker twin's handlers: one instance of each route a shard, bare. What they throw ends the
// process.
//
// On its shard's thread; made on the server's.
#pragma once

#include <bulkhead/actors/exchange.hpp>
#include <bulkhead/supervision/route_set.hpp>

#include <memory>
#include <vector>

namespace bulkhead::supervision {

class bare_handlers {
 public:
  // What a factory throws goes through.
  explicit bare_handlers(const route_set& routes);
  // Answers now, or when the coroutine ends.
  void operator()(actors::exchange& x);

 private:
  const http::route_table& table_;
  std::vector<std::shared_ptr<handler>> instances_;
};

}  // namespace bulkhead::supervision
