#include <bulkhead/supervision/json.hpp>

#include <array>
#include <cstdint>
#include <cstdio>

namespace bulkhead::supervision {

namespace {

// Length of the valid UTF-8 sequence at the front; 0 if there is none (RFC 3629 section 4).
std::size_t utf8_length(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(s[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < s.size() && at(i) >= low && at(i) <= high;
  };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t n = utf8_length(text);
    if (n == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
      text.remove_prefix(1);
    } else if (static_cast<std::uint8_t>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
      text.remove_prefix(1);
    } else {
      out += text.substr(0, n);
      text.remove_prefix(n);
    }
  }
  return out + '"';
}

}  // namespace bulkhead::supervision
