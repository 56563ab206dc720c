// The cases under tests/http/wire: bytes on the wire and the events they must cause.
//
//   === an error of the framing ends the connection
//   limits body=10 fields=3 section=100 target=20        (optional)
//   --- input
//   GET / HTTP/1.1\r\n                 (line ends of the file are not part of the input)
//   X: \{a*100}\r\n                    ("a", a hundred times)
//   --- events
//   failed 400                         (any reason; "failed 400: bare LF" for that one alone)
#pragma once

#include <bulkhead/http/limits.hpp>

#include <string>
#include <vector>

namespace bulkhead::http::test {

struct wire_case {
  std::string name;  // "file: name"
  limits bounds;
  std::string input;
  std::string events;
};

[[nodiscard]] std::vector<wire_case> load_wire_cases();

// Whether the events are the expected ones, given that a reason may be left open.
[[nodiscard]] bool matches(const std::string& events, const std::string& expected);

}  // namespace bulkhead::http::test
