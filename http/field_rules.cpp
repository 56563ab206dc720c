#include <bulkhead/http/field_rules.hpp>
#include <bulkhead/http/target.hpp>
#include <bulkhead/http/token.hpp>

namespace bulkhead::http {
namespace {

// Stricter than 1*DIGIT: who pads a length with zeros may be read as octal by someone else.
constexpr bool is_content_length(std::string_view value) noexcept {
  if (value.empty() || (value[0] == '0' && value.size() > 1)) return false;
  for (const char c : value) {
    if (!is_digit(c)) return false;
  }
  return true;
}

}  // namespace

refusal field_rules::note(std::string_view name, std::string_view value,
                          unsigned minor_version) noexcept {
  switch (name.size()) {
    case 4:
      if (!equals_ignoring_case(name, "host")) break;
      if (host_) return {400, "more than one Host"};
      if (!is_authority(value)) return {400, "invalid Host"};
      host_ = true;
      break;
    case 6:
      if (!equals_ignoring_case(name, "expect")) break;
      while (!value.empty()) {
        if (!equals_ignoring_case(next_member(value), "100-continue")) {
          return {417, "unknown expectation"};
        }
        // RFC 9110 section 10.1.1: HTTP/1.0 does not know interim responses.
        if (minor_version >= 1) expects_continue_ = true;
      }
      break;
    case 10:
      if (!equals_ignoring_case(name, "connection")) break;
      while (!value.empty()) {
        const std::string_view option = next_member(value);
        if (equals_ignoring_case(option, "close")) close_ = true;
        if (equals_ignoring_case(option, "keep-alive")) keep_alive_ = true;
      }
      break;
    case 14:
      if (!equals_ignoring_case(name, "content-length")) break;
      if (!is_content_length(value)) return {400, "invalid Content-Length"};
      break;
    case 17:
      if (!equals_ignoring_case(name, "transfer-encoding")) break;
      // RFC 9112 section 6.1: whatever relayed it did not understand it.
      if (minor_version == 0) return {400, "Transfer-Encoding in HTTP/1.0"};
      return note_transfer_encoding(value);
    default:
      break;
  }
  return {};
}

refusal field_rules::note_transfer_encoding(std::string_view list) noexcept {
  transfer_encoding_ = true;
  do {
    const std::string_view coding = next_member(list);
    if (!is_token(coding.substr(0, coding.find(';')))) return {400, "invalid Transfer-Encoding"};
    if (chunked_) return {400, "a transfer coding after chunked"};
    if (equals_ignoring_case(coding, "chunked")) {
      chunked_ = true;
    } else if (equals_ignoring_case(coding, "identity")) {
      return {400, "the identity transfer coding is no longer valid"};
    } else {
      unknown_coding_ = true;
    }
  } while (!list.empty());
  return {};
}

refusal field_rules::settle(unsigned minor_version, bool chunked) const noexcept {
  if (minor_version >= 1 && !host_) return {400, "no Host"};
  if (unknown_coding_) return {501, "unknown transfer coding"};
  // Two readings of where a message ends are one too many.
  if (transfer_encoding_ && !(chunked_ && chunked)) return {400, "invalid Transfer-Encoding"};
  return {};
}

}  // namespace bulkhead::http
