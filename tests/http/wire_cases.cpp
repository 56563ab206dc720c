#include "wire_cases.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace bulkhead::http::test {
namespace {

[[noreturn]] void broken(const std::string& what) {
  throw std::runtime_error("wire case: " + what);
}

std::size_t closing_brace(std::string_view line, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < line.size(); ++i) {
    if (line[i] == '{') ++depth;
    if (line[i] == '}' && --depth == 0) return i;
  }
  broken("an open brace in " + std::string(line));
}

void append_unescaped(std::string& out, std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    if (++i == line.size()) broken("a backslash at the end of a line");
    switch (line[i]) {
      case 'r':
        out += '\r';
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case '\\':
        out += '\\';
        break;
      case 'x':
        out += static_cast<char>(std::stoi(std::string(line.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      case '{': {
        const std::size_t close = closing_brace(line, i);
        const std::size_t star = line.rfind('*', close);
        const int times = std::stoi(std::string(line.substr(star + 1, close - star - 1)));
        for (int n = 0; n < times; ++n) append_unescaped(out, line.substr(i + 1, star - i - 1));
        i = close;
        break;
      }
      default:
        broken("unknown escape in " + std::string(line));
    }
  }
}

void read_limits(limits& l, const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::size_t value = std::stoul(word.substr(equals + 1));
    if (key == "body")
      l.body = value;
    else if (key == "fields")
      l.fields = value;
    else if (key == "section")
      l.field_section = value;
    else if (key == "target")
      l.request_line = value;
    else
      broken("unknown limit " + key);
  }
}

void load_file(const std::filesystem::path& path, std::vector<wire_case>& cases) {
  std::ifstream in(path);
  enum { preamble, input, events } at = preamble;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== ")) {
      cases.push_back({path.stem().string() + ": " + line.substr(4), {}, {}, {}});
      at = preamble;
    } else if (line == "--- input") {
      at = input;
    } else if (line == "--- events") {
      at = events;
    } else if (line.empty() || line.starts_with("# ")) {
      continue;
    } else if (at == input) {
      append_unescaped(cases.back().input, line);
    } else if (at == events) {
      // Events are compared as they are written; only repetitions are spelled out.
      const std::size_t open = line.find("\\{");
      std::string spelled = line.substr(0, open);
      if (open != std::string::npos) append_unescaped(spelled, line.substr(open));
      cases.back().events += spelled + '\n';
    } else if (line.starts_with("limits ")) {
      read_limits(cases.back().bounds, line.substr(7));
    } else {
      broken("what is this? " + line);
    }
  }
}

}  // namespace

std::vector<wire_case> load_wire_cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(BULKHEAD_WIRE_CASES)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<wire_case> cases;
  for (const auto& file : files) load_file(file, cases);
  return cases;
}

bool matches(const std::string& events, const std::string& expected) {
  std::istringstream have(events);
  std::istringstream want(expected);
  for (std::string h, w;;) {
    const bool more = static_cast<bool>(std::getline(have, h));
    if (more != static_cast<bool>(std::getline(want, w))) return false;
    if (!more) return true;
    const bool open = w.starts_with("failed ") && w.find(':') == std::string::npos;
    if (h != w && !(open && h.starts_with(w + ':'))) return false;
  }
}

}  // namespace bulkhead::http::test
