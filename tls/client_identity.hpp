// Reads a client certificate into plain values, for the sources of tls/ alone.
#pragma once

#include <bulkhead/tls/native.hpp>
#include <bulkhead/tls/peer.hpp>

#include <memory>

namespace bulkhead::tls {

// Null unless this session asked for a certificate, got one and verified it. In a resumed session
// that happened in the handshake that issued the ticket.
[[nodiscard]] std::shared_ptr<const client_identity> verified_client(const SSL* ssl);

}  // namespace bulkhead::tls
