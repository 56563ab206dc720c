// The messages that actors of this runtime send each other. Internal: never installed.
#pragma once

#include <bulkhead/actors/caf_compat.hpp>
#include <bulkhead/actors/exchange.hpp>

namespace bulkhead::actors {

// Control, to a connection: end after the requests that are in flight.
struct drain_message {};

// Data, to a connection: a handler on another thread has answered.
struct answer_message {
  exchange_ref x;
  http::response response;
  verdict how = verdict::completed;
};

}  // namespace bulkhead::actors

BULKHEAD_BEGIN_MESSAGES(bulkhead_actors, caf::first_custom_type_id);
BULKHEAD_MESSAGE(bulkhead_actors, bulkhead::actors::drain_message)
BULKHEAD_MESSAGE(bulkhead_actors, bulkhead::actors::answer_message)
BULKHEAD_END_MESSAGES(bulkhead_actors);
