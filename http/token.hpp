// Tokens, lists and case-insensitive names (RFC 9110 section 5.6). Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace bulkhead::http {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

[[nodiscard]] constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// A set of bytes, asked once a byte on the hot path.
class byte_set {
 public:
  constexpr explicit byte_set(std::string_view members) noexcept {
    for (const char c : members) in_[static_cast<unsigned char>(c)] = true;
  }
  [[nodiscard]] constexpr bool operator()(char c) const noexcept {
    return in_[static_cast<unsigned char>(c)];
  }
  [[nodiscard]] constexpr bool all(std::string_view text) const noexcept {
    for (const char c : text) {
      if (!(*this)(c)) return false;
    }
    return true;
  }

 private:
  std::array<bool, 256> in_{};
};

inline constexpr byte_set token_chars(
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && token_chars.all(text);
}

[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// Without the optional white space around it (OWS, RFC 9110 section 5.6.3).
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next member off a comma-separated list; it is trimmed and may be empty.
[[nodiscard]] constexpr std::string_view next_member(std::string_view& list) noexcept {
  const std::size_t comma = list.find(',');
  const std::string_view member = list.substr(0, comma);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  return trimmed(member);
}

}  // namespace bulkhead::http
