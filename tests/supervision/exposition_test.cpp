// The metrics text format: what our writer writes, and that the tests' checker sees what is wrong.
#include <bulkhead/supervision/exposition.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <tests/supervision/exposition_check.hpp>
#include <vector>

namespace bulkhead::supervision {
namespace {

using testing::check_exposition;

// -- the writer
// -------------------------------------------------------------------------------------------

TEST_CASE("a family is its help, its type and its samples") {
  exposition out;
  out.counter("a_total", "How many.", 3);
  out.gauge("b", "By shard.");
  out.sample(1, {{"shard", "0"}});
  out.sample(2, {{"shard", "1"}, {"kind", "x"}});
  CHECK(out.page() ==
        "# HELP a_total How many.\n"
        "# TYPE a_total counter\n"
        "a_total 3\n"
        "# HELP b By shard.\n"
        "# TYPE b gauge\n"
        "b{shard=\"0\"} 1\n"
        "b{shard=\"1\",kind=\"x\"} 2\n");
  CHECK(check_exposition(out.page()).error.empty());
}

TEST_CASE("microseconds are written as seconds, exactly") {
  exposition out;
  out.gauge("s_seconds", "Time.");
  for (const std::uint64_t us : {0ULL, 1ULL, 999'999ULL, 1'000'000ULL, 1'700'000'000'123'456ULL}) {
    out.seconds(us, {{"us", std::to_string(us)}});
  }
  const auto page = check_exposition(out.page());
  CHECK(page.error.empty());
  CHECK(page.value("s_seconds{us=\"0\"}") == "0.000000");
  CHECK(page.value("s_seconds{us=\"1\"}") == "0.000001");
  CHECK(page.value("s_seconds{us=\"999999\"}") == "0.999999");
  CHECK(page.value("s_seconds{us=\"1000000\"}") == "1.000000");
  CHECK(page.value("s_seconds{us=\"1700000000123456\"}") == "1700000000.123456");
}

TEST_CASE("any text can be a label's value, and stays one") {
  struct row {
    std::string_view in, out;
  };
  for (const row& r : std::vector<row>{
           {"", ""},
           {"GET /a", "GET /a"},
           {"\"} 1\nfaked 2", "\\\"} 1\\nfaked 2"},
           {"back\\slash", "back\\\\slash"},
           {"\\\"\n", "\\\\\\\"\\n"},
           {"\r\x1b\x7f", "\\\\r\\\\x1b\\\\x7f"},
           {"\xc2\x9b\xff", "\\\\x9b\\\\xff"},
           {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
       }) {
    exposition out;
    out.gauge("g", "Help.");
    out.sample(7, {{"text", r.in}});
    const auto page = check_exposition(out.page());
    CAPTURE(out.page());
    CHECK(page.error.empty());
    CHECK(page.samples.size() == 1);
    CHECK(page.value("g{text=\"" + std::string(r.out) + "\"}") == "7");
  }
}

// -- the checker
// ------------------------------------------------------------------------------------------

TEST_CASE("the checker of the tests refuses what is no good page, at its line") {
  const std::string good =
      "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n"
      "# HELP b B \\\\ \\n.\n# TYPE b gauge\nb{x=\"1\",y=\"\\\\\\\"\\n\"} 1.5\nb{x=\"2\"} 0\n";
  REQUIRE(check_exposition(good).error.empty());
  const std::string b = "# HELP b B.\n# TYPE b gauge\n";
  struct row {
    std::string page, error;
    int line;
  };
  for (const row& r : std::vector<row>{
           {"", "the last line does not end", 0},
           {"# HELP b B.\n# TYPE b gauge\nb 1", "the last line does not end", 0},
           {"\n", "an empty line", 1},
           {"# hello\n", "a comment", 1},
           {"# HELP 1b B.\n", "a bad family name", 1},
           {"# HELP b-c B.\n", "a bad family name", 1},
           {"# HELP b\n", "no help text", 1},
           {"# HELP b \n", "no help text", 1},
           {"# HELP b x\\y\n", "a bad escape in a help text", 1},
           {"# HELP b x\\\n", "a bad escape in a help text", 1},
           {"# HELP b B.\n", "a family without a type", 1},
           {"# HELP b B.\nb 1\n", "a family without a type", 2},
           {"# HELP b B.\n# HELP c C.\n", "a family without a type", 2},
           {"# TYPE b gauge\n", "a type without a help text before it", 1},
           {b + "# TYPE b gauge\n", "a type without a help text before it", 3},
           {"# HELP b B.\n# TYPE c gauge\n", "the type of another family", 2},
           {"# HELP b B.\n# TYPE b\n", "the type of another family", 2},
           {"# HELP b B.\n# TYPE b Gauge\n", "a type that we do not use", 2},
           {"# HELP b B.\n# TYPE b gauge \n", "a type that we do not use", 2},
           {"# HELP b B.\n# TYPE b counter\n", "a counter without _total", 2},
           {"# HELP b_total B.\n# TYPE b_total gauge\n", "a gauge with the ending of another type",
            2},
           {"# HELP b_sum B.\n# TYPE b_sum gauge\n", "a gauge with the ending of another type", 2},
           {b + "b 1\n" + b, "a family that was there before", 4},
           {"b 1\n", "a sample outside its family", 1},
           {b + "c 1\n", "a sample outside its family", 3},
           {b + "b_x 1\n", "a sample outside its family", 3},
           {b + "1b 1\n", "a bad sample name", 3},
           {b + " b 1\n", "a bad sample name", 3},
           {b + "b\n", "no value", 3},
           {b + "b{x=\"1\"}\n", "no value", 3},
           {b + "b{x=\"1\"}2\n", "no value", 3},
           {b + "b NaN\n", "a bad value", 3},
           {b + "b +Inf\n", "a bad value", 3},
           {b + "b -1\n", "a bad value", 3},
           {b + "b 1e3\n", "a bad value", 3},
           {b + "b 1.\n", "a bad value", 3},
           {b + "b .5\n", "a bad value", 3},
           {b + "b  1\n", "a bad value", 3},
           {b + "b 1 \n", "a bad value", 3},
           {b + "b 1 1700000000\n", "a bad value", 3},
           {b + "b 1\r\n", "a control character", 3},
           {b + "b{x=\"\xff\"} 1\n", "not UTF-8", 3},
           {b + "b 1\nb 2\n", "a duplicate", 4},
           {b + "b{x=\"1\",y=\"2\"} 1\nb{y=\"2\",x=\"1\"} 1\n", "a duplicate", 4},
           {b + "b{} 1\n", "a label without a value", 3},
           {b + "b{x=1} 1\n", "a label without a value", 3},
           {b + "b{x=\"1\",} 1\n", "a label without a value", 3},
           {b + "b{1x=\"1\"} 1\n", "a bad label name", 3},
           {b + "b{x:y=\"1\"} 1\n", "a bad label name", 3},
           {b + "b{__x=\"1\"} 1\n", "a bad label name", 3},
           {b + "b{x=\"1\",x=\"2\"} 1\n", "a label given twice", 3},
           {b + "b{x=\"\\t\"} 1\n", "a bad escape in a label", 3},
           {b + "b{x=\"\\\n", "a bad escape in a label", 3},
           {b + "b{x=\"1\n", "a label that does not end", 3},
           {b + "b{x=\"1\" 1\n", "labels that do not end", 3},
           {b + "b{x=\"a\"b\"} 1\n", "labels that do not end", 3},
       }) {
    CAPTURE(r.page);
    const auto checked = check_exposition(r.page);
    CHECK(checked.error == r.error);
    if (r.error != "a family without a type" || r.line != 1) CHECK(checked.line == r.line);
  }
}

}  // namespace
}  // namespace bulkhead::supervision
