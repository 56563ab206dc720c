#include <bulkhead/supervision/printable.hpp>

#include <algorithm>
#include <set>
#include <tests/supervision/exposition_check.hpp>

namespace bulkhead::supervision::testing {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(std::string_view s, bool of_label) {
  if (s.empty() || is_digit(s[0])) return false;
  return std::all_of(s.begin(), s.end(), [of_label](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || (c == ':' && !of_label);
  });
}

bool ends_with_any(std::string_view s, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [s](auto end) { return s.ends_with(end); });
}

// Digits, and a fraction: NaN, infinities, signs and exponents are nothing that we count.
bool is_figure(std::string_view s) {
  const auto point = s.find('.');
  const std::string_view whole = s.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? "0" : s.substr(point + 1);
  const auto digits = [](std::string_view d) {
    return !d.empty() && std::all_of(d.begin(), d.end(), is_digit);
  };
  return digits(whole) && digits(part);
}

// Reads one page, line by line, up to its first error.
class reader {
 public:
  explicit reader(scraped& to) : to_(to) {}

  // Each answers what is wrong, or null.
  const char* line(std::string_view text) {
    if (text.empty()) return "an empty line";
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(utf8_length(rest))) {
      if (utf8_length(rest) == 0) return "not UTF-8";
      if (control_character(rest) != no_control) return "a control character";
    }
    if (text.starts_with("# HELP ")) return help(text.substr(7));
    if (text.starts_with("# TYPE ")) return type(text.substr(7));
    return text[0] == '#' ? "a comment" : sample(text);
  }
  [[nodiscard]] const char* end() const { return help_only_ ? "a family without a type" : nullptr; }

 private:
  const char* help(std::string_view text) {
    if (help_only_) return "a family without a type";
    const auto space = text.find(' ');
    family_ = text.substr(0, space);
    if (!is_name(family_, false)) return "a bad family name";
    if (space == std::string_view::npos || space + 1 == text.size()) return "no help text";
    for (std::string_view rest = text.substr(space + 1); !rest.empty(); rest.remove_prefix(1)) {
      if (rest[0] != '\\') continue;
      if (rest.size() < 2 || (rest[1] != '\\' && rest[1] != 'n'))
        return "a bad escape in a help text";
      rest.remove_prefix(1);
    }
    if (!families_.insert(family_).second) return "a family that was there before";
    help_only_ = true;
    return nullptr;
  }

  const char* type(std::string_view text) {
    if (!help_only_) return "a type without a help text before it";
    help_only_ = false;
    const auto space = text.find(' ');
    if (space == std::string_view::npos || text.substr(0, space) != family_) {
      return "the type of another family";
    }
    const std::string_view type = text.substr(space + 1);
    if (type != "counter" && type != "gauge") return "a type that we do not use";
    if (type == "counter" && !family_.ends_with("_total")) return "a counter without _total";
    if (type == "gauge" && ends_with_any(family_, {"_total", "_sum", "_count", "_bucket"})) {
      return "a gauge with the ending of another type";
    }
    to_.types[family_] = type;
    return nullptr;
  }

  const char* sample(std::string_view text) {
    if (help_only_) return "a family without a type";
    const auto name_end = std::min(text.find_first_of("{ "), text.size());
    if (!is_name(text.substr(0, name_end), false)) return "a bad sample name";
    if (text.substr(0, name_end) != family_) return "a sample outside its family";
    std::string_view rest = text.substr(name_end);
    std::map<std::string_view, std::string_view> labels;
    if (!rest.empty() && rest[0] == '{') {
      if (const char* wrong = read_labels(rest, labels)) return wrong;
    }
    const std::string_view identity = text.substr(0, text.size() - rest.size());
    if (rest.empty() || rest[0] != ' ') return "no value";
    if (!is_figure(rest.substr(1))) return "a bad value";
    if (!series_.insert({family_, {labels.begin(), labels.end()}}).second) return "a duplicate";
    to_.samples[std::string(identity)] = rest.substr(1);
    return nullptr;
  }

  // From "{" to after "}".
  static const char* read_labels(std::string_view& rest,
                                 std::map<std::string_view, std::string_view>& labels) {
    do {
      rest.remove_prefix(1);
      const auto equals = rest.find("=\"");
      if (equals == std::string_view::npos) return "a label without a value";
      const std::string_view name = rest.substr(0, equals);
      if (!is_name(name, true) || name.starts_with("__")) return "a bad label name";
      rest.remove_prefix(equals + 2);
      std::size_t size = 0;
      for (; size < rest.size() && rest[size] != '"'; ++size) {
        if (rest[size] != '\\') continue;
        ++size;
        if (size == rest.size() ||
            std::string_view("\\\"n").find(rest[size]) == std::string_view::npos) {
          return "a bad escape in a label";
        }
      }
      if (size == rest.size()) return "a label that does not end";
      if (!labels.emplace(name, rest.substr(0, size)).second) return "a label given twice";
      rest.remove_prefix(size + 1);
    } while (!rest.empty() && rest[0] == ',');
    if (rest.empty() || rest[0] != '}') return "labels that do not end";
    rest.remove_prefix(1);
    return nullptr;
  }

  scraped& to_;
  std::string family_;
  bool help_only_ = false;
  std::set<std::string> families_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> series_;
};

}  // namespace

scraped check_exposition(std::string_view page) {
  scraped result;
  reader r(result);
  const char* wrong = page.ends_with('\n') ? nullptr : "the last line does not end";
  while (wrong == nullptr && !page.empty()) {
    const auto end = page.find('\n');
    ++result.line;
    wrong = r.line(page.substr(0, end));
    page.remove_prefix(end + 1);
  }
  if (wrong == nullptr) wrong = r.end();
  if (wrong != nullptr) result.error = wrong;
  return result;
}

}  // namespace bulkhead::supervision::testing
