#include <bulkhead/http/token.hpp>
#include <bulkhead/supervision/admin_query.hpp>
#include <bulkhead/supervision/printable.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace bulkhead::supervision {

namespace {

error bad(std::string_view parameter, std::string_view why) {
  return error(error_category::usage, printable(parameter) + ": " + std::string(why));
}

// Takes what is before the separator off the front.
std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

std::optional<std::string> form_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] != '%') {
      out += text[0] == '+' ? ' ' : text[0];
      text.remove_prefix(1);
      continue;
    }
    unsigned byte = 0;
    const auto [end, ok] = std::from_chars(
        text.data() + 1, text.data() + std::min<std::size_t>(3, text.size()), byte, 16);
    if (text.size() < 3 || ok != std::errc() || end != text.data() + 3) return std::nullopt;
    out += static_cast<char>(byte);
    text.remove_prefix(3);
  }
  return out;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, ok] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || ok != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "0.5" in thousandths; what is no weight counts as 1, as if it were not there.
unsigned weight(std::string_view text) {
  unsigned thousandths = 0;
  unsigned unit = 1000;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == 1 && text[i] == '.') continue;
    if (text[i] < '0' || text[i] > '9' || unit == 0) return 1000;
    thousandths += static_cast<unsigned>(text[i] - '0') * unit;
    unit /= 10;
  }
  return text.empty() || thousandths > 1000 ? 1000 : thousandths;
}

// What a client thinks of one media type: the most precise range decides.
class opinion {
 public:
  opinion(std::string_view exact, std::string_view family) : exact_(exact), family_(family) {}
  void hear(std::string_view range, unsigned how_much) {
    const int precision = http::equals_ignoring_case(range, exact_)    ? 3
                          : http::equals_ignoring_case(range, family_) ? 2
                          : range == "*/*"                             ? 1
                                                                       : 0;
    if (precision == 0 || precision < precision_) return;
    precision_ = precision;
    weight_ = how_much;
  }
  [[nodiscard]] unsigned weight() const noexcept { return weight_; }

 private:
  std::string_view exact_, family_;
  int precision_ = 0;
  unsigned weight_ = 0;
};

}  // namespace

result<fault_query> parse_fault_query(std::string_view query) {
  fault_query q;
  std::set<std::string_view> seen;
  while (!query.empty()) {
    std::string_view value = next_part(query, '&');
    if (value.empty()) continue;
    const std::string_view name = next_part(value, '=');
    if (!seen.insert(name).second) return bad(name, "is given twice");
    if (name == "limit") {
      const auto n = whole_number(value);
      if (!n || *n == 0) return bad(name, "must be a whole number from 1");
      q.limit = *n;
    } else if (name == "since") {
      const auto n = whole_number(value);
      if (!n) return bad(name, "must be the number of a fault, or 0");
      q.since = *n;
    } else if (name == "child") {
      const auto id = form_decoded(value);
      if (!id || id->empty()) return bad(name, "must be the id of a child, percent-encoded");
      q.child = *id;
    } else {
      return bad(name, "is no parameter of this page; it takes limit, child and since");
    }
  }
  return q;
}

bool prefers_text(const http::request& r) {
  opinion text("text/plain", "text/*");
  opinion json("application/json", "application/*");
  for (std::size_t i = 0; i < r.field_count(); ++i) {
    const http::field_view field = r.field_at(i);
    if (!http::equals_ignoring_case(field.name, "accept")) continue;
    std::string_view list = field.value;
    while (!list.empty()) {
      std::string_view parameters = next_part(list, ',');
      const std::string_view range = trimmed(next_part(parameters, ';'));
      unsigned how_much = 1000;
      while (!parameters.empty()) {
        std::string_view value = trimmed(next_part(parameters, ';'));
        if (http::equals_ignoring_case(next_part(value, '='), "q")) how_much = weight(value);
      }
      text.hear(range, how_much);
      json.hear(range, how_much);
    }
  }
  return text.weight() > json.weight();
}

}  // namespace bulkhead::supervision
