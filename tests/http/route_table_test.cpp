#include <bulkhead/http/request_parser.hpp>
#include <bulkhead/http/route_table.hpp>

#include <doctest/doctest.h>

#include <string>

namespace bulkhead::http {
namespace {

using outcome = route_table::outcome;

struct fixture {
  route_table table;
  request r;

  void add(std::string_view pattern, std::size_t value, method m = method::get) {
    const result<void> added = table.add(m, pattern, value);
    REQUIRE_MESSAGE(static_cast<bool>(added), added.why().message());
  }
  std::string refusal(std::string_view pattern, method m = method::get) {
    const result<void> added = table.add(m, pattern, 9);
    REQUIRE_FALSE(static_cast<bool>(added));
    return added.why().message();
  }
  route_table::match find(std::string_view target, std::string_view method_name = "GET") {
    r.reset();
    request_parser p{limits{}};
    const std::string bytes =
        std::string(method_name) + ' ' + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    REQUIRE(p.parse(bytes, r).state == request_parser::progress::complete);
    return table.find(r);
  }
  // The value, or -1.
  int value(std::string_view target, std::string_view method_name = "GET") {
    const route_table::match m = find(target, method_name);
    return m.what == outcome::found ? static_cast<int>(m.value) : -1;
  }
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "an empty table finds nothing") {
  CHECK(find("/").what == outcome::not_found);
}

TEST_CASE_FIXTURE(fixture, "a literal path is found as it is") {
  add("/", 1);
  add("/a", 2);
  add("/a/b", 3);
  CHECK(value("/") == 1);
  CHECK(value("/a") == 2);
  CHECK(value("/a/b") == 3);
  CHECK(value("/a?query") == 2);
  CHECK(value("/b") == -1);
  CHECK(value("/a/b/c") == -1);
  CHECK(value("/A") == -1);
}

TEST_CASE_FIXTURE(fixture, "one literal of many is found, whatever the order they were added in") {
  for (std::size_t i = 0; i < 100; ++i) add("/r" + std::to_string(i * 37 % 1000), i);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(value("/r" + std::to_string(i * 37 % 1000)) == static_cast<int>(i));
  }
  CHECK(value("/r1") == -1);
  CHECK(value("/r") == -1);
  CHECK(value("/r9999") == -1);
}

TEST_CASE_FIXTURE(fixture, "a trailing slash makes another path") {
  add("/a", 1);
  CHECK(value("/a/") == -1);
  add("/a/", 2);
  CHECK(value("/a") == 1);
  CHECK(value("/a/") == 2);
  CHECK(value("/a//") == -1);
}

TEST_CASE_FIXTURE(fixture, "a parameter takes one segment that is not empty") {
  add("/users/:id", 1);
  add("/users/:id/files/:file", 2);
  CHECK(value("/users/7") == 1);
  CHECK(r.param("id") == "7");
  CHECK(value("/users/7/files/a.txt") == 2);
  CHECK(r.param("id") == "7");
  CHECK(r.param("file") == "a.txt");
  CHECK(value("/users/") == -1);
  CHECK(value("/users//files/a") == -1);
}

TEST_CASE_FIXTURE(fixture, "parameters are bound decoded") {
  add("/users/:id", 1);
  CHECK(value("/users/a%20b%3Fc") == 1);
  CHECK(r.param("id") == "a b?c");
}

TEST_CASE_FIXTURE(fixture, "a wildcard takes the rest, slashes and all, or nothing") {
  add("/files/*path", 1);
  CHECK(value("/files/a/b/") == 1);
  CHECK(r.param("path") == "a/b/");
  CHECK(value("/files/") == 1);
  CHECK(r.param("path").empty());
  CHECK(value("/files") == -1);
}

TEST_CASE_FIXTURE(fixture, "a literal goes before a parameter, and that before a wildcard") {
  add("/*rest", 3);
  add("/:one", 2);
  add("/a", 1);
  CHECK(value("/a") == 1);
  CHECK(value("/b") == 2);
  CHECK(value("/b/c") == 3);
  CHECK(value("/") == 3);
}

TEST_CASE_FIXTURE(fixture, "a literal that leads nowhere gives way to a parameter or a wildcard") {
  add("/a/b/c", 1);
  add("/:x/b/d", 2);
  add("/a/*rest", 3);
  add("/:x/:y/:z/e", 4);
  CHECK(value("/a/b/c") == 1);
  CHECK(value("/z/b/d") == 2);
  CHECK(value("/a/b/d") == 3);
  CHECK(r.param("rest") == "b/d");
  CHECK(value("/b/b/d/e") == 4);
  CHECK(r.param("x") == "b");
  CHECK(r.param("z") == "d");
  CHECK(r.param("rest").empty());
}

TEST_CASE_FIXTURE(fixture, "routes of one path may name its parameters differently") {
  add("/u/:id", 1, method::get);
  add("/u/:name", 2, method::put);
  add("/u/:user/x", 3, method::get);
  CHECK(value("/u/7", "PUT") == 2);
  CHECK(r.param("name") == "7");
  CHECK(r.param("id").empty());
  CHECK(value("/u/7") == 1);
  CHECK(r.param("id") == "7");
  CHECK(value("/u/7/x") == 3);
  CHECK(r.param("user") == "7");
}

TEST_CASE_FIXTURE(fixture, "finding again forgets the parameters of before") {
  add("/:a", 1);
  CHECK(value("/1") == 1);
  CHECK(table.find(r).what == outcome::found);
  CHECK(r.param("a") == "1");
  route_table other;
  REQUIRE(static_cast<bool>(other.add(method::get, "/:b", 1)));
  CHECK(other.find(r).what == outcome::found);
  CHECK(r.param("a").empty());
  CHECK(r.param("b") == "1");
}

TEST_CASE_FIXTURE(fixture, "a method without a route is told which ones there are") {
  add("/a", 1, method::post);
  add("/a", 2, method::get);
  const route_table::match m = find("/a", "DELETE");
  CHECK(m.what == outcome::method_not_allowed);
  CHECK(m.allow == "GET, HEAD, POST, OPTIONS");
  CHECK(find("/a", "PROPFIND").what == outcome::method_not_allowed);
  CHECK(find("/a", "TRACE").what == outcome::method_not_allowed);
}

TEST_CASE_FIXTURE(fixture, "the most specific path decides before the method does") {
  add("/a", 1, method::post);
  add("/:x", 2, method::get);
  CHECK(find("/a").what == outcome::method_not_allowed);
  CHECK(find("/a").allow == "POST, OPTIONS");
}

TEST_CASE_FIXTURE(fixture, "HEAD finds the route of GET unless it has its own") {
  add("/a", 1, method::get);
  add("/b", 2, method::get);
  add("/b", 3, method::head);
  add("/c", 4, method::post);
  CHECK(value("/a", "HEAD") == 1);
  CHECK(value("/b", "HEAD") == 3);
  CHECK(find("/c", "HEAD").what == outcome::method_not_allowed);
  CHECK(find("/c", "HEAD").allow == "POST, OPTIONS");
}

TEST_CASE_FIXTURE(fixture, "OPTIONS is answered for a path that has routes") {
  add("/a", 1, method::get);
  add("/b", 2, method::options);
  CHECK(find("/a", "OPTIONS").what == outcome::options);
  CHECK(find("/a", "OPTIONS").allow == "GET, HEAD, OPTIONS");
  CHECK(value("/b", "OPTIONS") == 2);
  CHECK(find("/c", "OPTIONS").what == outcome::not_found);
}

TEST_CASE_FIXTURE(fixture, "OPTIONS * names every method of the table") {
  add("/a", 1, method::get);
  add("/b", 2, method::delete_);
  const route_table::match m = find("*", "OPTIONS");
  CHECK(m.what == outcome::options);
  CHECK(m.allow == "GET, HEAD, DELETE, OPTIONS");
}

TEST_CASE_FIXTURE(fixture, "a pattern that makes no sense is refused and named") {
  CHECK(refusal("a") == R"(route "a": must begin with "/")");
  CHECK(refusal("") == R"(route "": must begin with "/")");
  CHECK(refusal("/:") == R"(route "/:": a parameter needs a name)");
  CHECK(refusal("/a/*") == R"(route "/a/*": a parameter needs a name)");
  CHECK(refusal("/*a/b") == R"(route "/*a/b": "*a" must be the last segment)");
  CHECK(refusal("/*a/") == R"(route "/*a/": "*a" must be the last segment)");
  CHECK(refusal("/:a/:a") == R"(route "/:a/:a": the name "a" stands twice)");
  CHECK(refusal("/:a/:b/*a") == R"(route "/:a/:b/*a": the name "a" stands twice)");
  CHECK(find("/x").what == outcome::not_found);
}

TEST_CASE_FIXTURE(fixture, "a route that is there already is refused") {
  add("/a/:x", 1);
  CHECK(refusal("/a/:y") == R"(route "/a/:y": there is one for GET already)");
  CHECK(value("/a/7") == 1);
  CHECK(r.param("x") == "7");
}

TEST_CASE_FIXTURE(fixture, "a route cannot have a method that is not ours to serve") {
  CHECK(refusal("/a", method::connect).ends_with("routes cannot have the method CONNECT"));
  CHECK(refusal("/a", method::trace).ends_with("routes cannot have the method TRACE"));
  CHECK(refusal("/a", method::other).ends_with("routes cannot have the method other"));
}

TEST_CASE_FIXTURE(fixture, "a path has room for 16 parameters and no more") {
  std::string pattern;
  std::string path;
  for (int i = 0; i < 16; ++i) {
    pattern += "/:p" + std::to_string(i);
    path += '/' + std::to_string(i);
  }
  CHECK(refusal(pattern + "/:q").ends_with("more than 16 parameters"));
  add(pattern, 1);
  CHECK(value(path) == 1);
  CHECK(r.param("p15") == "15");
}

TEST_CASE_FIXTURE(fixture, "a table may be moved, with what it named") {
  add("/a/:x", 1);
  const route_table moved = std::move(table);
  r.reset();
  request_parser p{limits{}};
  REQUIRE(p.parse("GET /a/1 HTTP/1.1\r\nHost: x\r\n\r\n", r).state ==
          request_parser::progress::complete);
  CHECK(moved.find(r).what == outcome::found);
  CHECK(r.param("x") == "1");
}

}  // namespace bulkhead::http
