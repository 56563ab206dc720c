// The tree as a value and its two renderings.
#include <bulkhead/supervision/tree.hpp>

#include <doctest/doctest.h>

#include <string>

namespace bulkhead::supervision {
namespace {

tree_node node(std::string kind, std::string id, std::string state = {}) {
  return {.id = std::move(id), .kind = std::move(kind), .state = std::move(state)};
}

tree_node three_levels() {
  tree_node root = node("server", "s", "ready");
  tree_node a = node("route", "GET /a", "in_service");
  a.facts = {{"strategy", "one_for_one"}, {"faults", std::uint64_t{3}}};
  a.children = {node("cell", "1", "running"), node("cell", "2", "dead")};
  tree_node b = node("route", "GET /b");
  b.children = {node("cell", "3")};
  root.children = {a, b};
  return root;
}

TEST_CASE("a tree as JSON nests its nodes, with facts as keys in their order") {
  CHECK(tree_json(node("shard", "0")) == R"({"id":"0","kind":"shard","children":[]})");
  CHECK(tree_json(three_levels()) ==
        R"({"id":"s","kind":"server","state":"ready","children":[)"
        R"({"id":"GET /a","kind":"route","state":"in_service","strategy":"one_for_one","faults":3,)"
        R"("children":[{"id":"1","kind":"cell","state":"running","children":[]},)"
        R"({"id":"2","kind":"cell","state":"dead","children":[]}]},)"
        R"({"id":"GET /b","kind":"route","children":[{"id":"3","kind":"cell","children":[]}]}]})");
}

TEST_CASE("a tree as text is drawn with branches, a line a node") {
  CHECK(tree_text(node("shard", "0")) == "shard 0\n");
  CHECK(tree_text(three_levels()) ==
        "server s [ready]\n"
        "├─ route GET /a [in_service] strategy=one_for_one faults=3\n"
        "│  ├─ cell 1 [running]\n"
        "│  └─ cell 2 [dead]\n"
        "└─ route GET /b\n"
        "   └─ cell 3\n");
}

TEST_CASE("the largest number is printed as it is") {
  tree_node n = node("x", "y");
  n.facts = {{"n", ~std::uint64_t{0}}};
  CHECK(tree_json(n).find(":18446744073709551615,") != std::string::npos);
  CHECK(tree_text(n) == "x y n=18446744073709551615\n");
}

TEST_CASE("what is in a text cannot break out of its node") {
  tree_node n = node("k\n", "GET /\x1b[2J\"", "s\r");
  n.facts = {{"f\t", "a b\n\"c\""}};
  CHECK(tree_text(n) == "k\\n GET /\\x1b[2J\" [s\\r] f\\t=\"a b\\n\"c\"\"\n");
  CHECK(tree_json(n) == R"({"id":"GET /\u001b[2J\"","kind":"k\u000a","state":"s\u000d",)"
                        R"("f\u0009":"a b\u000a\"c\"","children":[]})");
}

}  // namespace
}  // namespace bulkhead::supervision
