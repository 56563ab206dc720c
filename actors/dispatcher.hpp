// Where a connection hands its requests: the supervision tree, or the worker twin's bare handlers.
//
// One a shard, on that shard's thread.
#pragma once

#include <bulkhead/actors/exchange.hpp>

namespace bulkhead::actors {

class dispatcher {
 public:
  virtual ~dispatcher() = default;
  // Once, before the first dispatch().
  virtual void start(runtime::shard&) {}
  // Answers the exchange now or later, exactly once. An exception that leaves this function is a
  // defect of the dispatcher, and costs the connection.
  virtual void dispatch(exchange& x) = 0;
};

}  // namespace bulkhead::actors
