// Requests and response heads as bytes, for another process of the same program.
//
// Not a wire format: both sides are one build. The reader of a response still trusts nothing, since
// a crashed or broken worker may have written anything. A pure engine.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/http/response.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bulkhead::http {

class message_codec {
 public:
  // Appends everything but the body, whose size the reader is told.
  static void encode_head(const request& r, std::string& out);
  // Into a request that was reset(); false when the bytes are not what encode_head() writes. The
  // size of the body that follows, which the caller appends to body_of(into).
  [[nodiscard]] static bool decode_head(std::string_view bytes, request& into,
                                        std::uint64_t& body_size);
  [[nodiscard]] static std::string& body_of(request& r) noexcept;

  // Appends status, fields and what closes(): not the content.
  static void encode_head(const response& r, std::string& out);
  // Every field goes through response::field() again, so that what is invalid stays invalid.
  // Nothing when the bytes are not what encode_head() writes.
  [[nodiscard]] static std::optional<response> decode_head(std::string_view bytes);
};

}  // namespace bulkhead::http
