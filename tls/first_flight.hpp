// Looks at a new connection's first bytes before any TLS object exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bulkhead::tls {

enum class first_flight : std::uint8_t {
  incomplete,  // could still become a TLS record: wait
  record,      // a complete TLS handshake record: time for a session
  plain_http,  // an HTTP request without TLS
  garbage,     // neither
};

// Pure; any thread. A record longer than RFC 8446 section 5.1 allows is garbage.
[[nodiscard]] first_flight classify(std::span<const std::byte> bytes) noexcept;

// A fatal alert as a plaintext record, for peers that get no session (RFC 8446 section 6).
inline constexpr std::string_view alert_unexpected_message{"\x15\x03\x01\x00\x02\x02\x0a", 7};
inline constexpr std::string_view alert_internal_error{"\x15\x03\x01\x00\x02\x02\x50", 7};

}  // namespace bulkhead::tls
