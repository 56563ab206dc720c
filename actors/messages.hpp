// The messages that actors of this runtime send each other. Internal: never installed.
#pragma once

#include <bulkhead/actors/caf_compat.hpp>
#include <bulkhead/actors/exchange.hpp>

#include <caf/allowed_unsafe_message_type.hpp>

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

// Never serialized: these stay in the process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bulkhead::actors::drain_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(bulkhead::actors::answer_message)
