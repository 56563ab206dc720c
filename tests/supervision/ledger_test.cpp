// The fault ledger and the JSON that it prints.
#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/ledger.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace bulkhead::supervision {
namespace {

fault named(std::string child) {
  fault f;
  f.child = std::move(child);
  return f;
}

TEST_CASE("the ledger keeps the newest faults, oldest first, and numbers them all") {
  ledger l(3);
  for (const char* child : {"a", "b", "c", "d", "e"}) l.record(named(child));
  const auto kept = l.recent();
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].child == "c");
  CHECK(kept[0].number == 3);
  CHECK(kept[2].child == "e");
  CHECK(kept[2].number == 5);
  CHECK(l.total() == 5);
}

TEST_CASE("a text that is longer than the ledger keeps is cut") {
  ledger l;
  fault f = named("GET /");
  f.what = std::string(100'000, 'x');
  l.record(f);
  CHECK(l.recent().at(0).what.size() == ledger::longest_text);
}

TEST_CASE("faults of several threads are all numbered, each once") {
  ledger l(1'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&l] {
      for (int i = 0; i < 100; ++i) l.record(named("x"));
    });
  }
  for (auto& t : threads) t.join();
  const auto kept = l.recent();
  REQUIRE(kept.size() == 300);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].number == i + 1);
}

TEST_CASE("the ledger prints as one JSON object, with what clients must not see escaped") {
  ledger l;
  CHECK(l.to_json() == R"({"total":0,"faults":[]})");
  fault f = named("GET /\"x\"");
  f.when = runtime::wall_time(std::chrono::seconds(1'700'000'000));
  f.kind = "std::runtime_error";
  f.what = "line\nbreak \\ \xff";
  f.request = 1031;
  f.shard = 7;
  f.action = "restarted";
  l.record(f);
  CHECK(l.to_json() ==
        R"({"total":1,"faults":[{"number":1,"when":"2023-11-14T22:13:20Z",)"
        R"("child":"GET /\"x\"","kind":"std::runtime_error","what":"line\u000abreak \\ \ufffd",)"
        R"("route":"","request":1031,"shard":7,"action":"restarted"}]})");
}

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

}  // namespace
}  // namespace bulkhead::supervision
