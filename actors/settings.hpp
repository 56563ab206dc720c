// How connections of one server behave. The same for every shard.
#pragma once

#include <bulkhead/http/limits.hpp>
#include <bulkhead/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>

namespace bulkhead::actors {

// Each names the situation that it protects from. Zero is not "none" but "at once".
struct timeouts {
  // A client that connects and stays silent, or stalls in the handshake. From accept.
  runtime::milliseconds handshake = runtime::seconds(10);
  // A request head that drips in a byte at a time: absolute, from its first byte. Without TLS, the
  // first head is due this long after accept.
  runtime::milliseconds head = runtime::seconds(10);
  // A body that drips: this long, and a second more for each `body_rate` bytes that came.
  runtime::milliseconds body = runtime::seconds(20);
  std::size_t body_rate = 1024;
  // A reader that does not read: longest time without any of our bytes leaving.
  runtime::milliseconds send = runtime::seconds(30);
  // A connection between requests, and a TLS session before its first.
  runtime::milliseconds idle = runtime::seconds(75);
  // A peer that does not close after we finished (RFC 9112 section 9.6).
  runtime::milliseconds linger = runtime::seconds(2);
};

struct connection_settings {
  actors::timeouts timeouts = {};
  http::limits limits = {};
  // Handshakes of one shard that hold TLS memory (about 56 KiB each) at once; over: refused.
  std::uint32_t pending_handshakes = 1024;
  // Data messages that may wait in a connection's mailbox; over: refused, and the sender is told.
  std::uint32_t mailbox_window = 64;
};

}  // namespace bulkhead::actors
