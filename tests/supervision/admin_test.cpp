// The admin pages, over a connection in memory.
#include <bulkhead/supervision/admin.hpp>
#include <bulkhead/supervision/exposition.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <tests/actors/support.hpp>
#include <vector>

namespace bulkhead::supervision {
namespace {

using actors::testing::answer_text;
using actors::testing::answers;
using actors::testing::line;

struct admin_bench : actors::testing::bench {
  ledger ledger_;
  bool live = true;
  std::vector<std::string> reasons;
  admin_dispatcher pages{
      {.live = [this] { return live; },
       .not_ready = [this] { return reasons; },
       .counters = [] { return std::string(R"({"admitted":1})"); },
       .faults = &ledger_,
       .tree = [] { return tree_node{.id = "s", .kind = "server", .state = {}}; },
       .metrics = [] { return std::string("metrics\n"); }}};
  line client{*this};

  admin_bench() {
    handlers.serve = [this](actors::exchange& x) { pages.dispatch(x); };
  }
  answer_text get(std::string_view target, std::string_view fields = {}) {
    return send(actors::testing::get(target, fields));
  }
  answer_text send(std::string_view request) {
    client.take();
    client.deliver(request);
    const auto all = answers(client.take());
    REQUIRE(all.size() == 1);
    return all[0];
  }
};

bool has(const answer_text& a, std::string_view field) {
  return a.head.find(std::string(field) + "\r\n") != std::string::npos;
}
bool is_json(const answer_text& a) {
  return has(a, "Content-Type: application/json");
}
bool is_text(const answer_text& a) {
  return has(a, "Content-Type: text/plain; charset=utf-8");
}

TEST_CASE("live and ready are different answers to different questions") {
  admin_bench b;
  CHECK(b.get("/live").status == 200);
  CHECK(b.get("/live").body == "{\"live\":true}\n");
  CHECK(b.get("/ready").status == 200);
  CHECK(b.get("/ready").body == "{\"ready\":true}\n");
  SUBCASE("not ready") {
    b.reasons = {"draining", "cells \"x\" unavailable"};
    CHECK(b.get("/ready").status == 503);
    CHECK(b.get("/ready").body ==
          "{\"ready\":false,\"reasons\":[\"draining\",\"cells \\\"x\\\" unavailable\"]}\n");
    CHECK(b.get("/live").status == 200);
  }
  SUBCASE("not alive") {
    b.live = false;
    CHECK(b.get("/live").status == 503);
    CHECK(b.get("/live").body == "{\"live\":false}\n");
    CHECK(b.get("/ready").status == 200);
  }
}

TEST_CASE("the faults are JSON, or text by name or by Accept") {
  admin_bench b;
  fault f;
  f.child = "GET /a";
  b.ledger_.record(f);
  const auto json = b.get("/faults");
  CHECK(is_json(json));
  CHECK(has(json, "Vary: Accept"));
  CHECK(json.body == b.ledger_.to_json() + "\n");
  for (const auto& text : {b.get("/faults.txt"), b.get("/faults", "Accept: text/plain\r\n"),
                           b.get("/faults.txt", "Accept: application/json\r\n")}) {
    CHECK(is_text(text));
    CHECK(text.body == b.ledger_.to_text());
  }
}

TEST_CASE("the faults are chosen by query, and a bad one is refused by name") {
  admin_bench b;
  for (const char* child : {"a", "b c", "a"}) {
    fault f;
    f.child = child;
    b.ledger_.record(f);
  }
  CHECK(b.get("/faults?limit=1").body == b.ledger_.to_json({.limit = 1}) + "\n");
  CHECK(b.get("/faults?child=b%20c").body == b.ledger_.to_json({.child = "b c"}) + "\n");
  CHECK(b.get("/faults.txt?since=2").body == b.ledger_.to_text({.since = 2}));
  for (const char* page : {"/faults", "/faults.txt"}) {
    const auto refused = b.get(std::string(page) + "?limit=many");
    CHECK(refused.status == 400);
    CHECK(has(refused, "Content-Type: application/problem+json"));
    CHECK(refused.body.find("\"detail\":\"limit: must be") != std::string::npos);
  }
}

TEST_CASE("the tree is JSON, or text by name or by Accept") {
  admin_bench b;
  CHECK(is_json(b.get("/tree")));
  CHECK(b.get("/tree").body == "{\"id\":\"s\",\"kind\":\"server\",\"children\":[]}\n");
  for (const auto& text : {b.get("/tree.txt"), b.get("/tree", "Accept: text/plain\r\n")}) {
    CHECK(is_text(text));
    CHECK(text.body == "server s\n");
  }
}

TEST_CASE("the most precise range of Accept and its weight decide, and JSON without a reason") {
  admin_bench b;
  struct row {
    std::string_view accept;
    bool text;
  };
  for (const row& r : std::vector<row>{
           {"*/*", false},
           {"application/json", false},
           {"text/plain", true},
           {"TEXT/Plain ; q=0.5", true},
           {"text/*", true},
           {"text/html", false},
           {"image/png", false},
           {"", false},
           {"text/plain, application/json", false},
           {"text/plain, application/json;q=0.9", true},
           {"text/plain;q=0.1, application/*;q=0.2", false},
           {"text/plain;q=0, */*", false},
           {"*/*;q=0.1, text/plain", true},
           {"application/json;q=0, */*", true},
           {"text/plain;q=0.001,application/json;q=0", true},
           {"text/plain;q=1.000, application/json;q=0.999", true},
           {"text/*;q=1, text/plain;q=0.2, application/json;q=0.5", false},
           {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},
           {";;,,q=1,;q", false},
       }) {
    CAPTURE(r.accept);
    CHECK(is_text(b.get("/tree", "Accept: " + std::string(r.accept) + "\r\n")) == r.text);
  }
  CHECK(is_text(b.get("/tree", "Accept: text/plain\r\nAccept: application/json;q=0.5\r\n")));
  CHECK(is_json(b.get("/tree", "Accept: text/plain;q=0.5\r\nAccept: application/json\r\n")));
}

TEST_CASE("metrics have the type that Prometheus reads, whatever it accepts") {
  admin_bench b;
  for (const auto& m : {b.get("/metrics"), b.get("/metrics", "Accept: application/json\r\n")}) {
    CHECK(m.body == "metrics\n");
    CHECK(has(m, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  }
}

TEST_CASE("the first page lists the others, and each of them is there") {
  admin_bench b;
  const auto json = b.get("/");
  CHECK(is_json(json));
  const auto text = b.get("/", "Accept: text/plain\r\n");
  CHECK(is_text(text));
  for (const char* page : {"/live", "/ready", "/metrics", "/counters", "/faults", "/faults.txt",
                           "/tree", "/tree.txt"}) {
    CAPTURE(page);
    CHECK(b.get(page).status == 200);
    CHECK(json.body.find("{\"path\":\"" + std::string(page) + "\",\"about\":\"") !=
          std::string::npos);
    CHECK(text.body.find("\n" + std::string(page) + " ") != std::string::npos);
  }
}

TEST_CASE("nothing is kept by a cache, and another page or method is refused") {
  admin_bench b;
  for (const char* page : {"/", "/live", "/ready", "/metrics", "/faults", "/tree", "/nothing"}) {
    CHECK(has(b.get(page), "Cache-Control: no-store"));
  }
  for (const char* page : {"/nothing", "/live/", "/LIVE", "/faults.json", "//"}) {
    CHECK(b.get(page).status == 404);
    CHECK(has(b.get(page), "Content-Type: application/problem+json"));
  }
  const auto post = b.send(actors::testing::post("/live", "x"));
  CHECK(post.status == 405);
  CHECK(has(post, "Allow: GET, HEAD"));
}

}  // namespace
}  // namespace bulkhead::supervision
