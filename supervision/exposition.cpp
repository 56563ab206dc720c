#include <bulkhead/supervision/exposition.hpp>
#include <bulkhead/supervision/printable.hpp>

namespace bulkhead::supervision {

namespace {

// The format's three escapes; what terminals obey, and bytes that are no UTF-8, first become text.
std::string label_value(std::string_view text) {
  std::string out;
  for (; !text.empty();) {
    const std::size_t n = utf8_length(text);
    if (text[0] == '\\' || text[0] == '"') {
      out += '\\';
      out += text[0];
    } else if (text[0] == '\n') {
      out += "\\n";
    } else if (n == 0 || control_character(text) != no_control) {
      out += '\\';
      out += printable(text.substr(0, n == 0 ? 1 : n));
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace

void exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void exposition::sample(std::uint64_t value, std::initializer_list<label> labels) {
  add(std::to_string(value), labels);
}

void exposition::seconds(std::uint64_t microseconds, std::initializer_list<label> labels) {
  constexpr std::uint64_t million = 1'000'000;
  std::string digits = std::to_string(microseconds % million);
  digits.insert(0, 6 - digits.size(), '0');
  add(std::to_string(microseconds / million) + '.' + digits, labels);
}

void exposition::add(const std::string& value, std::initializer_list<label> labels) {
  out_ += name_;
  char before = '{';
  for (const auto& [name, text] : labels) {
    out_ += before;
    out_.append(name).append("=\"").append(label_value(text)).append("\"");
    before = ',';
  }
  if (labels.size() != 0) out_ += '}';
  out_.append(" ").append(value).append("\n");
}

}  // namespace bulkhead::supervision
