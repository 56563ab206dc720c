#include <bulkhead/supervision/printable.hpp>

#include <cstdint>

namespace bulkhead::supervision {

std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  if (text.empty()) return 0;
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

char32_t control_character(std::string_view text) noexcept {
  if (text.empty()) return no_control;
  const auto c = static_cast<std::uint8_t>(text[0]);
  if (c < 0x20 || c == 0x7F) return c;
  if (c == 0xC2 && utf8_length(text) == 2 && static_cast<std::uint8_t>(text[1]) < 0xA0) {
    return static_cast<std::uint8_t>(text[1]);  // U+0080 to U+009F: C2 and the number itself
  }
  return no_control;
}

std::string printable(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    const char32_t control = control_character(text);
    if (control == U'\n' || control == U'\r' || control == U'\t') {
      out += control == U'\n' ? "\\n" : control == U'\r' ? "\\r" : "\\t";
    } else if (n == 0 || control != no_control) {
      const std::uint32_t c = n == 0 ? static_cast<std::uint8_t>(text[0]) : control;
      out += "\\x";
      out += hex[c >> 4U];
      out += hex[c & 15U];
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace bulkhead::supervision
