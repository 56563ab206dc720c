// Query parameters and Accept at the admin address.
#include <bulkhead/supervision/admin_query.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::supervision {
namespace {

TEST_CASE("a query of nothing asks for all faults") {
  for (const std::string_view text : {"", "&", "&&"}) {
    const auto q = parse_fault_query(text);
    REQUIRE(q);
    CHECK(q->limit == static_cast<std::size_t>(-1));
    CHECK(q->child.empty());
    CHECK(q->since == 0);
  }
}

TEST_CASE("limit, child and since are read, in any order") {
  const auto q = parse_fault_query("since=7&limit=20&child=GET%20/a%2Fb+c%25");
  REQUIRE(q);
  CHECK(q->limit == 20);
  CHECK(q->since == 7);
  CHECK(q->child == "GET /a/b c%");
  CHECK(parse_fault_query("since=0")->since == 0);
  CHECK(parse_fault_query("since=18446744073709551615")->since == ~std::uint64_t{0});
  CHECK(parse_fault_query("child=a=b")->child == "a=b");
}

TEST_CASE("a bad parameter is refused by its name") {
  struct row {
    std::string_view query, name;
  };
  for (const row& r : std::vector<row>{
           {"limit=", "limit: "},
           {"limit", "limit: "},
           {"limit=0", "limit: "},
           {"limit=-1", "limit: "},
           {"limit=+1", "limit: "},
           {"limit=1x", "limit: "},
           {"limit=0x10", "limit: "},
           {"limit=1.5", "limit: "},
           {"limit=%31", "limit: "},
           {"limit=18446744073709551616", "limit: "},
           {"limit=1&limit=1", "limit: "},
           {"since=", "since: "},
           {"since=-1", "since: "},
           {"since=yesterday", "since: "},
           {"since=1&limit=2&since=1", "since: "},
           {"child=", "child: "},
           {"child", "child: "},
           {"child=%", "child: "},
           {"child=%4", "child: "},
           {"child=%zz", "child: "},
           {"child=%-1", "child: "},
           {"child=a%2", "child: "},
           {"Limit=1", "Limit: "},
           {"order=desc", "order: "},
           {"=1", ": "},
           {"a\xff\x1b=1", "a\\xff\\x1b: "},
       }) {
    CAPTURE(r.query);
    const auto q = parse_fault_query(r.query);
    REQUIRE_FALSE(q);
    CHECK(q.why().message().find(r.name) == 0);
  }
}

}  // namespace
}  // namespace bulkhead::supervision
