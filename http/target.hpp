// Request targets and authorities, checked and taken apart (RFC 9112 section 3.2, RFC 3986).
//
// Pure; any thread. What is refused here never reaches a route: two readings of one target are how
// a check in front of a handler gets bypassed.
#pragma once

#include <bulkhead/http/request.hpp>

#include <string>
#include <string_view>

namespace bulkhead::http {

struct target_parts {
  std::string_view path;   // percent-decoded; in the target, in `decoded` or a literal
  std::string_view query;  // as sent
};

// Null when it is well-formed, or what is wrong with it (400). `decoded` is written to only when
// the path has percent-escapes.
[[nodiscard]] const char* split_target(method m, std::string_view target, std::string& decoded,
                                       target_parts& parts) noexcept;

// host [ ":" port ], without user information and with a host: what Host and the authority of an
// absolute-form target may be.
[[nodiscard]] bool is_authority(std::string_view text) noexcept;

}  // namespace bulkhead::http
