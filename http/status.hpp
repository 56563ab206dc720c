// Status codes with their reason phrases (RFC 9110 section 15).
#pragma once

#include <cstdint>
#include <string_view>

namespace bulkhead::http {

// "Not Found" for 404; "Status" for a code without a registered phrase.
[[nodiscard]] std::string_view reason_phrase(std::uint16_t status) noexcept;

// RFC 9110 section 6.4.1: 1xx, 204 and 304 have no content.
[[nodiscard]] constexpr bool forbids_content(std::uint16_t status) noexcept {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace bulkhead::http
