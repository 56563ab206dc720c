// Text as JSON strings and as lines for a terminal.
#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/printable.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::supervision {
namespace {

TEST_CASE("a text becomes a JSON string") {
  struct row {
    std::string_view in, out;
  };
  for (const row& r : std::vector<row>{
           {"", R"("")"},
           {"plain", R"("plain")"},
           {"\"\\/", R"("\"\\/")"},
           {std::string_view("\0\x01\x1f", 3), R"("\u0000\u0001\u001f")"},
           {"\t\r\n", R"("\u0009\u000d\u000a")"},
           {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
           {"\xe2\x82\xac", "\"\xe2\x82\xac\""},
           {"\xf0\x9f\x9a\xa2", "\"\xf0\x9f\x9a\xa2\""},
           {"\x7f", R"("\u007f")"},
           {"\xc2\x9b[", R"("\u009b[")"},  // U+009B: a terminal takes it for ESC [
           {"\xc2\xa0", "\"\xc2\xa0\""},
           {"\xff", R"("\ufffd")"},
           {"\xc3", R"("\ufffd")"},                                // cut short
           {"\xc0\xaf", R"("\ufffd\ufffd")"},                      // overlong
           {"\xe0\x80\xaf", R"("\ufffd\ufffd\ufffd")"},            // overlong
           {"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},            // a surrogate
           {"\xf4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")"},  // above U+10FFFF
           {"a\x80z", R"("a\ufffdz")"},
       }) {
    CHECK(json_string(r.in) == r.out);
  }
}

TEST_CASE("a text becomes printable: one line, valid UTF-8, nothing that a terminal obeys") {
  struct row {
    std::string_view in, out;
  };
  for (const row& r : std::vector<row>{
           {"", ""},
           {"plain \\ \"", "plain \\ \""},
           {"\t\r\n", "\\t\\r\\n"},
           {std::string_view("\0\x1b\x1f\x7f", 4), "\\x00\\x1b\\x1f\\x7f"},
           {"\xc2\x80\xc2\x9f\xc2\xa0", "\\x80\\x9f\xc2\xa0"},
           {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\xa2", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\xa2"},
           {"a\xffz\xc2", "a\\xffz\\xc2"},
       }) {
    CHECK(printable(r.in) == r.out);
  }
}

}  // namespace
}  // namespace bulkhead::supervision
