#include <bulkhead/http/target.hpp>
#include <bulkhead/http/token.hpp>

namespace bulkhead::http {
namespace {

constexpr byte_set path_chars(
    "/:@!$&'()*+,;=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
// RFC 3986 has no room for the last row, but every browser sends these unescaped in a query, and
// nothing here reads a query in two ways.
constexpr byte_set query_chars(
    "/?:@!$&'()*+,;=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    "[]{}|^`\"<>");
constexpr byte_set host_chars(
    "!$&'()*+,;=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
constexpr byte_set literal_chars("0123456789abcdefABCDEF:.");

constexpr int hex_digit(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// The byte that the escape at text[i] stands for, or -1.
constexpr int escape_at(std::string_view text, std::size_t i) noexcept {
  if (text.size() - i < 3) return -1;
  const int high = hex_digit(text[i + 1]);
  const int low = hex_digit(text[i + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

constexpr bool has_dot_segment(std::string_view path) noexcept {
  for (std::size_t i = path.find("/."); i != std::string_view::npos; i = path.find("/.", i + 1)) {
    const std::string_view rest = path.substr(i + 2);
    if (rest.empty() || rest[0] == '/') return true;
    if (rest[0] == '.' && (rest.size() == 1 || rest[1] == '/')) return true;
  }
  return false;
}

const char* decode_path(std::string_view path, std::size_t first_escape, std::string& decoded,
                        std::string_view& out) {
  decoded.assign(path.substr(0, first_escape));
  for (std::size_t i = first_escape; i < path.size(); ++i) {
    if (path[i] != '%') {
      if (!path_chars(path[i])) return "invalid character in the path";
      decoded.push_back(path[i]);
      continue;
    }
    const int byte = escape_at(path, i);
    if (byte < 0) return "invalid percent-escape in the path";
    if (byte == 0) return "percent-encoded NUL in the path";
    // Decoding it would make two segments of one; leaving it would make path() ambiguous.
    if (byte == '/') return "percent-encoded slash in the path";
    decoded.push_back(static_cast<char>(byte));
    i += 2;
  }
  out = decoded;
  return nullptr;
}

const char* check_query(std::string_view query) noexcept {
  for (std::size_t i = 0; i < query.size(); ++i) {
    if (query_chars(query[i])) continue;
    if (query[i] != '%') return "invalid character in the query";
    const int byte = escape_at(query, i);
    if (byte < 0) return "invalid percent-escape in the query";
    if (byte == 0) return "percent-encoded NUL in the query";
    i += 2;
  }
  return nullptr;
}

// Takes "http://authority" off the front of an absolute-form target.
const char* strip_authority(std::string_view& target) noexcept {
  const std::size_t colon = target.find("://");
  const std::string_view scheme = target.substr(0, colon);
  if (colon == std::string_view::npos ||
      !(equals_ignoring_case(scheme, "http") || equals_ignoring_case(scheme, "https"))) {
    return "the target is neither a path nor an http or https URI";
  }
  target.remove_prefix(colon + 3);
  const std::size_t end = target.find_first_of("/?#");
  if (!is_authority(target.substr(0, end))) return "invalid authority in the target";
  target = end == std::string_view::npos ? std::string_view() : target.substr(end);
  return nullptr;
}

}  // namespace

const char* split_target(method m, std::string_view target, std::string& decoded,
                         target_parts& parts) noexcept {
  if (target == "*") {
    if (m != method::options) return "the target * is for OPTIONS only";
    parts = {target, {}};
    return nullptr;
  }
  if (target.empty()) return "empty target";
  if (target[0] != '/') {
    if (const char* wrong = strip_authority(target)) return wrong;
  }
  std::size_t i = 0;
  bool dots = false;  // or escapes, which may stand for dots
  for (; i < target.size() && path_chars(target[i]); ++i) dots |= target[i] == '.';
  const std::size_t mark = i < target.size() && target[i] == '%' ? target.find('?', i) : i;
  if (mark < target.size() && target[mark] == '?') {
    parts.query = target.substr(mark + 1);
    if (const char* wrong = check_query(parts.query)) return wrong;
  } else if (mark < target.size()) {
    return "invalid character in the path";
  }
  parts.path = target.substr(0, mark);
  if (i < parts.path.size()) {
    dots = true;
    if (const char* wrong = decode_path(parts.path, i, decoded, parts.path)) return wrong;
  }
  if (parts.path.empty()) parts.path = "/";  // "http://host" or "http://host?query"
  if (dots && has_dot_segment(parts.path)) return "dot segment in the path";
  return nullptr;
}

bool is_authority(std::string_view text) noexcept {
  std::size_t i = 0;
  if (!text.empty() && text[0] == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    if (!literal_chars.all(text.substr(1, close - 1))) return false;
    i = close + 1;
  } else {
    for (;; i += 3) {
      while (i < text.size() && host_chars(text[i])) ++i;
      if (i == text.size() || text[i] != '%' || escape_at(text, i) <= 0) break;
    }
    if (i == 0) return false;  // RFC 9110 section 4.2.1: no http URI without a host
  }
  if (i == text.size()) return true;
  if (text[i] != ':' || text.size() - i > 6) return false;
  unsigned port = 0;
  while (++i < text.size()) {
    if (!is_digit(text[i])) return false;
    port = port * 10 + static_cast<unsigned>(text[i] - '0');
  }
  return port <= 65535;
}

}  // namespace bulkhead::http
