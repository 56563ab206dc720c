// How the ledger reads: as JSON for programs, as a page for people.
#include <bulkhead/supervision/ledger.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <string>

namespace bulkhead::supervision {
namespace {

fault named(std::string child) {
  fault f;
  f.child = std::move(child);
  return f;
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
  f.signal = 11;
  f.requests_failed = 1;
  f.sessions_lost = 2;
  f.restart_time = std::chrono::microseconds(1'234);
  f.detail = "frame 0\nframe 1";
  l.record(f);
  CHECK(l.to_json() ==
        R"({"total":1,"faults":[{"number":1,"when":"2023-11-14T22:13:20Z",)"
        R"("child":"GET /\"x\"","kind":"std::runtime_error","what":"line\u000abreak \\ \ufffd",)"
        R"("route":"","request":1031,"shard":7,"action":"restarted","signal":11,)"
        R"("requests_failed":1,"sessions_lost":2,"restart_us":1234,)"
        R"("detail":"frame 0\u000aframe 1"}]})");
}

TEST_CASE("as JSON a query shows only what it chose, and how many there were at all") {
  ledger l;
  for (const char* child : {"a", "b", "c"}) l.record(named(child));
  const std::string json = l.to_json({.limit = 1, .child = "b"});
  CHECK(json.find(R"({"total":3,"faults":[{"number":2,)") == 0);
  CHECK(json.find(R"("number":3)") == std::string::npos);
}

TEST_CASE("as text each fault is an entry with what is known of it, line by line") {
  ledger l;
  CHECK(l.to_text() == "0 faults since the start, 0 shown, oldest first\n");
  fault f = named("GET /a");
  f.when = runtime::wall_time(std::chrono::seconds(1'700'000'000));
  f.kind = "signal";
  f.what = "a cell died";
  f.route = "GET /a\x1b[2J";
  f.request = 1031;
  f.shard = 7;
  f.action = "restarted";
  f.signal = SIGSEGV;
  f.requests_failed = 1;
  f.sessions_lost = 2;
  f.restart_time = std::chrono::microseconds(1'234);
  f.detail = "frame 0\nframe\r1\n\nframe 3\n";
  l.record(f);
  fault small = named("b");
  small.when = f.when;
  small.kind = "K";
  l.record(small);
  CHECK(l.to_text() ==
        "2 faults since the start, 2 shown, oldest first\n"
        "\n"
        "#1 2023-11-14T22:13:20Z GET /a: signal\n"
        "  signal    SIGSEGV\n"
        "  what      a cell died\n"
        "  request   1031, GET /a\\x1b[2J\n"
        "  shard     7\n"
        "  cost      1 request failed, 2 sessions lost, restart took 1234 us\n"
        "  action    restarted\n"
        "  detail\n"
        "    frame 0\n"
        "    frame\\r1\n"
        "    \n"
        "    frame 3\n"
        "\n"
        "#2 2023-11-14T22:13:20Z b: K\n"
        "  shard     0\n");
}

TEST_CASE("a text from a client or a handler can forge no line and reach no terminal") {
  ledger l;
  fault f = named("c\n#9 x");
  f.kind = "k\r\n";
  f.what = "w\x1b]0;title\x07";
  f.request = 1;
  f.route =
      "GET /\xc2\x9b"
      "31m\xff";
  f.action = "a\t\x7f";
  l.record(f);
  const std::string text = l.to_text();
  CHECK(text.find("c\\n#9 x: k\\r\\n\n") != std::string::npos);
  CHECK(text.find("w\\x1b]0;title\\x07\n") != std::string::npos);
  CHECK(text.find("GET /\\x9b31m\\xff\n") != std::string::npos);
  CHECK(text.find("a\\t\\x7f\n") != std::string::npos);
  const std::string json = l.to_json();
  for (const char c : json) CHECK(static_cast<unsigned char>(c) >= 0x20);
  CHECK(json.find('\x7f') == std::string::npos);
  CHECK(json.find("\xc2\x9b") == std::string::npos);
}

}  // namespace
}  // namespace bulkhead::supervision
