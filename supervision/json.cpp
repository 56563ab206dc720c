#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/printable.hpp>

namespace bulkhead::supervision {

std::string json_string(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t n = utf8_length(text);
    const char32_t control = control_character(text);
    if (n == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
      text.remove_prefix(1);
    } else if (control != no_control) {
      out += "\\u00";
      out += hex[control >> 4U];
      out += hex[control & 15U];
      text.remove_prefix(n);
    } else {
      out += text.substr(0, n);
      text.remove_prefix(n);
    }
  }
  return out + '"';
}

}  // namespace bulkhead::supervision
